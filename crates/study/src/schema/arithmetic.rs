//! Arithmetic as sources print it: numbers, `+ - * /` and brackets; nothing else.
//!
//! A parser by recursive descent; depth and length are bounded.

use narrows_model::located::printable;
use std::fmt;

/// Brackets and signs within each other at most.
const DEPTH_MAX: usize = 50;
/// Characters at most.
const CHARS_MAX: usize = 1_000;

/// Why a text is no arithmetic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct ArithmeticError {
    /// The character at which it stops making sense, from 1.
    pub(super) character: usize,
    /// What is wrong there.
    pub(super) what: String,
}

impl fmt::Display for ArithmeticError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at character {}", self.what, self.character)
    }
}

/// The value of `text`.
///
/// # Errors
/// What is none, brackets deeper than 50, a division by zero, a value that is not finite.
pub(super) fn value(text: &str) -> Result<f64, ArithmeticError> {
    let mut parser = ArithmeticParser { rest: text, text, depth: 0 };
    if text.chars().count() > CHARS_MAX {
        return Err(parser.error(format!("more than {CHARS_MAX} characters")));
    }
    let value = parser.sum()?;
    match parser.peek() {
        Some(found) => Err(parser.error(format!("`{}`", printable(&found.to_string())))),
        None if value.is_finite() => Ok(value),
        None => Err(parser.error("a value outside the range of numbers".to_owned())),
    }
}

struct ArithmeticParser<'t> {
    text: &'t str,
    rest: &'t str,
    depth: usize,
}

impl ArithmeticParser<'_> {
    fn error(&self, what: String) -> ArithmeticError {
        let read = self.text.len() - self.rest.len();
        let character = self.text.get(..read).map_or(0, |read| read.chars().count()) + 1;
        ArithmeticError { character, what }
    }

    /// The next character that is no space.
    fn peek(&mut self) -> Option<char> {
        self.rest = self.rest.trim_start();
        self.rest.chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let there = self.peek() == Some(wanted);
        if there {
            self.rest = self.rest.get(wanted.len_utf8()..).unwrap_or_default();
        }
        there
    }

    fn sum(&mut self) -> Result<f64, ArithmeticError> {
        let mut value = self.product()?;
        loop {
            if self.take('+') {
                value += self.product()?;
            } else if self.take('-') {
                value -= self.product()?;
            } else {
                return Ok(value);
            }
        }
    }

    fn product(&mut self) -> Result<f64, ArithmeticError> {
        let mut value = self.signed()?;
        loop {
            if self.take('*') {
                value *= self.signed()?;
            } else if self.take('/') {
                let by = self.signed()?;
                if by.abs() <= 0.0 {
                    return Err(self.error("a division by zero before this".to_owned()));
                }
                value /= by;
            } else {
                return Ok(value);
            }
        }
    }

    fn signed(&mut self) -> Result<f64, ArithmeticError> {
        self.depth += 1;
        if self.depth > DEPTH_MAX {
            return Err(self.error(format!("brackets and signs more than {DEPTH_MAX} deep")));
        }
        let value = if self.take('-') {
            -self.signed()?
        } else if self.take('+') {
            self.signed()?
        } else if self.take('(') {
            let value = self.sum()?;
            if !self.take(')') {
                return Err(self.error("a bracket that is not closed".to_owned()));
            }
            value
        } else {
            self.number()?
        };
        self.depth -= 1;
        Ok(value)
    }

    fn number(&mut self) -> Result<f64, ArithmeticError> {
        let Some(first) = self.peek() else {
            return Err(self.error("the end, where a number is missing".to_owned()));
        };
        let length = number_length(self.rest);
        let (digits, rest) = self.rest.split_at(length);
        match digits.parse::<f64>() {
            Ok(value) => {
                self.rest = rest;
                Ok(value)
            }
            Err(_) => {
                Err(self.error(format!("`{}`, where a number is missing", printable(&first.to_string()))))
            }
        }
    }
}

/// Bytes of the number at the start of `text`: digits, a point, an exponent.
fn number_length(text: &str) -> usize {
    let bytes = text.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let mut length = digits(0);
    if bytes.get(length) == Some(&b'.') {
        length += 1 + digits(length + 1);
    }
    if length > 0 && matches!(bytes.get(length), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(length + 1), Some(b'+' | b'-')));
        let exponent = digits(length + 1 + sign);
        if exponent > 0 {
            length += 1 + sign + exponent;
        }
    }
    length
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn arithmetic_is_that_of_school() {
        for (text, expected) in [
            ("9000/47", 9000.0 / 47.0),
            ("9 * 1024 / 47", 9.0 * 1024.0 / 47.0),
            ("1 + 2 * 3", 7.0),
            ("(1 + 2) * 3", 9.0),
            ("8 / 2 / 2", 2.0),
            ("1 - 2 - 3", -4.0),
            ("-(2) * -3", 6.0),
            ("1.5e3 + .5", 1500.5),
            ("2E-1", 0.2),
        ] {
            assert!((value(text).unwrap() - expected).abs() < 1e-9, "{text}");
        }
    }

    #[test]
    fn what_is_no_arithmetic_is_refused_at_its_character() {
        for (text, character) in [
            ("", 1),
            ("1 +", 4),
            ("1 2", 3),
            ("2 ** 3", 4),
            ("(1", 3),
            ("1)", 2),
            ("x", 1),
            ("1e999", 6),
            ("1/0", 4),
            ("inf", 1),
            ("9kB", 2),
        ] {
            assert_eq!(value(text).unwrap_err().character, character, "{text}");
        }
    }

    #[test]
    fn depth_and_length_are_bounded() {
        let deep = |depth: usize| format!("{}1{}", "(".repeat(depth), ")".repeat(depth));
        assert!(value(&deep(40)).is_ok());
        assert!(value(&deep(60)).is_err() && value(&"-".repeat(900)).is_err());
        assert!(value(&"1+".repeat(600)).unwrap_err().what.contains("1000"));
    }

    proptest! {
        #[test]
        fn no_text_is_too_strange(text in "[-+*/() .0-9eExü]{0,80}") {
            let _ = value(&text);
        }

        #[test]
        fn sums_are_those_of_numbers(a in -1e6..1e6f64, b in -1e6..1e6f64, c in 1.0..1e6f64) {
            let text = format!("({a} + {b}) / {c}");
            let expected = (a + b) / c;
            prop_assert!((value(&text).unwrap() - expected).abs() <= 1e-9 * expected.abs().max(1.0));
        }
    }
}
