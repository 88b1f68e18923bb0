//! What only `iscsi` promises, against targets that break the protocol: a clear error, in time, with bounded memory. A real
//! target is in the lab.
