//! The names by which a study gives values of enums.

use super::study::CellOrder;
use crate::schema::{Choice, choices};
use narrows_model::workload::{
    Access, Acknowledgement, Arrivals, CacheState, NameForm, ObjectCalls, ObjectSync, Order, Spread,
};
use narrows_model::{Cut, EngineId, Op};

/// The halves that transactions have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TransactionHalves {
    Both,
    ReadAppend,
    CreateDelete,
}

/// When a cell has been repeated often enough.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum RepeatRule {
    Fixed,
    Interval,
    Steady,
}

impl Choice for EngineId {
    const NAMES: &'static [&'static str] = EngineId::NAMES;
    const VALUES: &'static [Self] = EngineId::ALL;
}

choices! {
    CellOrder { "random" = CellOrder::Random, "as_written" = CellOrder::AsWritten }
    Cut {
        "generator" = Cut::Generator,
        "memory_copy" = Cut::MemoryCopy,
        "page_cache" = Cut::PageCache,
        "local_device" = Cut::LocalDevice,
        "network_stream" = Cut::NetworkStream,
        "server_memory" = Cut::ServerMemory,
        "server_storage" = Cut::ServerStorage,
        "early_path" = Cut::EarlyPath,
    }
    Op {
        "read" = Op::Read,
        "write" = Op::Write,
        "send" = Op::Send,
        "receive" = Op::Receive,
        "put" = Op::Put,
        "get" = Op::Get,
        "append" = Op::Append,
        "stat" = Op::Stat,
        "rename" = Op::Rename,
        "delete" = Op::Delete,
        "ping" = Op::Ping,
    }
    // Those with a parameter have a key of their own for it.
    Order {
        "sequential" = Order::Sequential,
        "backward" = Order::Backward,
        "random" = Order::Random,
        "random_with_replacement" = Order::RandomWithReplacement,
        "zipf" = Order::Zipf { theta: 1.0 },
        "stride" = Order::Stride { stride_bytes: 0, ends_early: false },
        "one_block" = Order::OneBlock,
        "listing" = Order::Listing,
    }
    Access { "buffered" = Access::Buffered, "direct" = Access::Direct }
    CacheState { "as_found" = CacheState::AsFound, "cold" = CacheState::Cold, "warm" = CacheState::Warm }
    Acknowledgement { "early" = Acknowledgement::Early, "late" = Acknowledgement::Late }
    Arrivals {
        "closed" = Arrivals::Closed,
        "constant" = Arrivals::Constant { ops_per_s: 0.0 },
        "poisson" = Arrivals::Poisson { ops_per_s: 0.0 },
    }
    Spread { "in_order" = Spread::InOrder, "scattered" = Spread::Scattered }
    NameForm {
        "number" = NameForm::Number,
        "number_letters" = NameForm::NumberLetters,
        "letters_number" = NameForm::LettersNumber,
    }
    ObjectCalls { "system" = ObjectCalls::System, "streams" = ObjectCalls::Streams }
    ObjectSync {
        "none" = ObjectSync::None,
        "data" = ObjectSync::Data,
        "data_and_folder" = ObjectSync::DataAndFolder,
    }
    TransactionHalves {
        "both" = TransactionHalves::Both,
        "read_append" = TransactionHalves::ReadAppend,
        "create_delete" = TransactionHalves::CreateDelete,
    }
    RepeatRule {
        "fixed" = RepeatRule::Fixed,
        "interval" = RepeatRule::Interval,
        "steady" = RepeatRule::Steady,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_of_operations_are_those_of_the_model() {
        assert_eq!(Op::NAMES, Op::VALUES.iter().map(|op| op.name()).collect::<Vec<_>>());
        let cuts: Vec<String> = Cut::VALUES.iter().map(|cut| cut.name().replace('-', "_")).collect();
        assert_eq!(Cut::NAMES, cuts);
    }
}
