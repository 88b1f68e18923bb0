//! What is asked of one run of PostMark on one machine, and all that can be wrong with it before anything is measured.

use super::settings::PostmarkSettings;
use crate::folder::FolderRoom;
use narrows_model::Bytes;
use narrows_model::quantity::amount;
use narrows_study::Problem;
use serde::{Deserialize, Serialize};

/// What is asked for.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Request {
    /// PostMark's settings.
    pub settings: PostmarkSettings,
    /// Whether cuts of the path are measured beside the phases.
    pub has_cuts: bool,
    /// Memory of this machine, where known.
    pub memory: Option<Bytes>,
    /// Free room for files, where known and on one file system.
    pub free: Option<Bytes>,
    /// The room of each location where they are on several file systems, where known.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub rooms: Vec<FolderRoom>,
}

impl Request {
    /// All that is wrong with it; nothing where it can be planned.
    #[must_use]
    pub fn problems(&self) -> Vec<Problem> {
        let set = self.settings.objects(true);
        let clash = self.settings.problem();
        let clash = clash.map(|said| Problem::new("run", said.found, said.allowed, said.hint));
        let beyond = set
            .problem()
            .map(|found| Problem::new("run", found, "a possible load of objects", "lower the figures"));
        clash.or(beyond).into_iter().chain(self.room_problem()).chain(self.rooms_problem()).collect()
    }

    /// Bytes of the files at the start, as expected.
    pub(super) fn set_bytes(&self) -> Bytes {
        self.settings.objects(false).expected_bytes()
    }

    /// Whether files are in subdirectories: the original makes none where one is set.
    pub(super) fn has_subdirectories(&self) -> bool {
        self.settings.subdirectories > 1
    }

    /// Most bytes of files at once.
    pub(super) fn file_bytes_max(&self) -> Bytes {
        Bytes(self.settings.files_max().saturating_mul(self.settings.size_high))
    }

    /// Most bytes that are written, were all of the largest size.
    pub(super) fn write_bytes_max(&self) -> Bytes {
        let files = self.settings.number.saturating_add(self.settings.transactions.saturating_mul(2));
        Bytes(files.saturating_mul(self.settings.size_high))
    }

    /// Files of the mean size have to fit at the start.
    fn room_problem(&self) -> Option<Problem> {
        let needed = self.set_bytes();
        let free = self.free.filter(|free| needed > *free)?;
        let mean = (needed.0 / self.settings.number.max(1)).max(1);
        let found = format!(
            "{} files of {} on average, {}",
            self.settings.number,
            amount(Bytes(mean)),
            amount(needed)
        );
        let hint = match free.0 / mean {
            0 => "free space, or name another location".to_owned(),
            fitting => format!("{fitting} is the maximum, with nothing left for appends; or free space"),
        };
        Some(Problem::new("number", found, format!("the {} that are free there", amount(free)), hint))
    }

    /// The same for several file systems: locations on one of them share its room.
    fn rooms_problem(&self) -> Option<Problem> {
        let weights = self.settings.drawn_weights();
        let whole: u64 = weights.iter().map(|weight| u64::from(*weight)).sum();
        let of = |room: &FolderRoom| {
            let here =
                self.rooms.iter().zip(&weights).filter(|(other, _)| other.file_system == room.file_system);
            let part: u64 = here.map(|(_, weight)| u64::from(*weight)).sum();
            let needed = u128::from(self.set_bytes().0) * u128::from(part) / u128::from(whole.max(1));
            Bytes(u64::try_from(needed).unwrap_or(u64::MAX))
        };
        let index = self.rooms.iter().position(|room| of(room) > room.free)?;
        let (room, location) = (&self.rooms[index], self.settings.locations.get(index)?);
        let found = format!(
            "{} files, of which {} are on the file system of {}",
            self.settings.number,
            amount(of(room)),
            location.path
        );
        let hint = "give fewer files, another weight, or another location; or free space";
        Some(Problem::new("number", found, format!("the {} that are free there", amount(room.free)), hint))
    }
}

#[cfg(test)]
mod tests {
    use super::super::settings::Location;
    use super::super::testing::request;
    use super::*;

    #[test]
    fn locations_of_one_file_system_share_its_room_by_their_weights() {
        let location = |path: &str, weight| Location { path: path.to_owned(), weight };
        let room =
            |file_system: &str, free| FolderRoom { file_system: file_system.to_owned(), free: Bytes(free) };
        let mut asked = request();
        // 500 files of 5250 bytes are 2 625 000 bytes, of which /a and /c have two fifths and one fifth.
        asked.settings.locations = vec![location("/a", 2), location("/b", 2), location("/c", 1)];
        asked.rooms = vec![room("one", 1_575_000), room("two", 1_050_000), room("one", 1_575_000)];
        assert_eq!(asked.problems(), []);
        asked.rooms[0].free = Bytes(1_574_999);
        asked.rooms[2].free = Bytes(1_574_999);
        let said = asked.problems().iter().map(ToString::to_string).collect::<String>();
        assert!(said.contains("1.50 MiB are on the file system of /a"), "{said}");
        asked.rooms[1].free = Bytes(0);
        asked.rooms[0] = room("three", u64::MAX);
        let said = asked.problems().iter().map(ToString::to_string).collect::<String>();
        assert!(said.contains("the file system of /b") && said.contains("that are free there"), "{said}");
    }

    #[test]
    fn files_that_do_not_fit_are_refused_with_the_number_that_does() {
        assert_eq!(request().problems(), []);
        let asked = Request { free: Some(Bytes(1 << 20)), ..request() };
        let said = asked.problems().iter().map(ToString::to_string).collect::<String>();
        // 500 files of 5250 bytes are 2.5 MiB; 199 of them are 1 MiB.
        assert!(
            said.contains("500 files of 5.13 KiB on average, 2.50 MiB") && said.contains("; 199 is"),
            "{said}"
        );
        let none = Request { free: Some(Bytes(100)), ..request() };
        assert!(none.problems()[0].hint.contains("another location"));
    }

    #[test]
    fn what_is_made_and_written_has_a_bound() {
        let asked = request();
        assert_eq!((asked.file_bytes_max(), asked.write_bytes_max()), (Bytes(10_000_000), Bytes(15_000_000)));
    }
}
