//! Contenders that take turns: in one order in one round, in the opposite order in the next.
//!
//! So a drift of the machine meets all of them alike (A B, B A, A B, ...), and each round gives a ratio of its own.

/// One of those that are compared.
pub(crate) struct Contender<'a> {
    pub(crate) name: &'static str,
    /// Measures once and gives a rate, or a time.
    pub(crate) turn: Box<dyn FnMut() -> anyhow::Result<f64> + 'a>,
}

impl<'a> Contender<'a> {
    pub(crate) fn new(name: &'static str, turn: impl FnMut() -> anyhow::Result<f64> + 'a) -> Self {
        Self { name, turn: Box::new(turn) }
    }
}

/// Lets everyone measure once a round.
///
/// # Shape
/// For each contender, in the order given, a value a round.
///
/// # Errors
/// That of the first turn that failed, with the contender's name.
pub(crate) fn run_rounds(rounds: usize, contenders: &mut [Contender<'_>]) -> anyhow::Result<Vec<Vec<f64>>> {
    let mut values = vec![Vec::with_capacity(rounds); contenders.len()];
    for round in 0..rounds {
        for place in 0..contenders.len() {
            let index = if round % 2 == 0 { place } else { contenders.len() - 1 - place };
            let contender = &mut contenders[index];
            let value = (contender.turn)().map_err(|error| error.context(contender.name))?;
            values[index].push(value);
        }
    }
    Ok(values)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::RefCell;

    #[test]
    fn the_order_turns_round_every_round_and_values_stay_with_their_contender() {
        let order = RefCell::new(String::new());
        let turn = |name: &'static str, value: f64| {
            let order = &order;
            Contender::new(name, move || {
                order.borrow_mut().push_str(name);
                Ok(value)
            })
        };
        let values = run_rounds(3, &mut [turn("A", 1.0), turn("B", 2.0)]).expect("no turn fails");
        assert_eq!(order.borrow().as_str(), "ABBAAB");
        assert_eq!(values, [[1.0; 3], [2.0; 3]]);
    }

    #[test]
    fn a_turn_that_fails_ends_the_contest_and_is_named() {
        let failing = Contender::new("fio", || Err(anyhow::anyhow!("exit status 1")));
        let error = run_rounds(1, &mut [failing]).expect_err("the turn fails");
        assert_eq!(format!("{error:#}"), "fio: exit status 1");
    }
}
