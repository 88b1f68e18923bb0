//! Which objects have their second name: a load that renames gives each object another name and then its own back, so that
//! all loads after it find what was there before.
//!
//! Hot path: at most one object has it unless calls fail, so that a search is one comparison.

/// Room for objects before memory is asked for: one is usual.
const USUAL_COUNT: usize = 8;

/// The objects of one worker that have their second name.
#[derive(Debug)]
pub(crate) struct SecondNames {
    numbers: Vec<u32>,
}

impl SecondNames {
    /// None yet.
    pub(crate) fn none() -> Self {
        Self { numbers: Vec::with_capacity(USUAL_COUNT) }
    }

    /// Whether the object of this number has its second name.
    #[inline]
    pub(crate) fn has(&self, number: u32) -> bool {
        self.numbers.contains(&number)
    }

    /// The object of this number was renamed: it has its second name now if it had its own, and its own else.
    #[inline]
    pub(crate) fn renamed(&mut self, number: u32) {
        match self.numbers.iter().position(|known| *known == number) {
            Some(at) => drop(self.numbers.swap_remove(at)),
            None => self.numbers.push(number),
        }
    }

    /// The objects that have it.
    pub(crate) fn numbers(&self) -> Vec<u32> {
        self.numbers.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_second_renaming_of_an_object_is_back_to_its_own_name() {
        let mut names = SecondNames::none();
        assert_eq!((names.has(3), names.numbers()), (false, vec![]));
        names.renamed(3);
        names.renamed(5);
        assert_eq!((names.has(3), names.has(5), names.numbers()), (true, true, vec![3, 5]));
        names.renamed(3);
        assert_eq!((names.has(3), names.numbers()), (false, vec![5]));
        names.renamed(5);
        assert!(names.numbers().is_empty());
    }
}
