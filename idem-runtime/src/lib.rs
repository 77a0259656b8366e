#![doc = include_str!("../README.md")]

// The macros name this crate by the path that its users have.
extern crate self as idem_runtime;

mod attempt;
mod backoff;
pub mod check;
pub mod dialect;
mod engine;
mod error;
mod fingerprint;
mod finish;
#[cfg(feature = "redis")]
pub mod gate;
mod hexadecimal;
mod idempotent;
mod json;
mod key;
pub mod lease;
pub mod machine;
mod on;
pub mod operator;
mod record;
#[cfg(feature = "redis")]
mod remote;
pub mod schema;
mod steps;
#[cfg(feature = "testing")]
pub mod testing;
pub mod token;
mod tx;

pub use attempt::{Attempt, AttemptTx, DownstreamKey};
pub use dialect::{Dialect, SqlDialect};
pub use engine::{Builder, Idem};
pub use error::{Error, Passed, Reply, TransitionError};
pub use idem_macros::{KeyPart, StateMachine, idempotent};
pub use idempotent::{Begin, LeasedCall, Lookup, Many, Once, OnceCall, OnceTx, One, Probe, RecordedError};
pub use key::{KeyPart, KeyParts, Part};
pub use on::On;
pub use tx::Tx;

/// Everything that the derive, the attribute and their callers name.
pub mod prelude {
    pub use crate::machine::{Created, Handle, Outcome, Row, StateMachine};
    pub use crate::{Attempt, AttemptTx, DownstreamKey, Probe};
    pub use crate::{Begin, Dialect, Error, Idem, KeyPart, Lookup, Once, Reply, SqlDialect, TransitionError, Tx};
    pub use idem_macros::{StateMachine, idempotent};
}

/// What expansions name. Not part of the interface: it changes with every version.
#[doc(hidden)]
pub mod __private {
    pub use crate::dialect::{Binds, BoxDynError, PerDialect, Reads, SqlDialect};
    pub use crate::fingerprint::Fingerprint;
    pub use crate::idempotent::{
        Answer, CarriesError, Claimed, Codec, ErrOf, FinalError, IsResult, Leased, OkOf, Opened, Spec, codec, key_part,
        lease, never, open, payload_part, record_err, upgrade,
    };
    pub use crate::key::{Key, KeyPart, Part};
    pub use crate::machine::{
        Bind, BulkSql, Columns, Create, CreateSql, CreatesOn, Event, EventOf, EventSpec, EventSql, Fields, Fire, Graph,
        GuardSql, Handle, HasActor, HasHistory, HasMetadata, HasVersion, MachineOn, MachineSpec, MachineSql, NewRow,
        RepairSql, Repr, Row, State, StateMachine, Statement, Transition, UniqueWhileSql, UnknownState, Unpinned,
        Values,
    };
    pub use crate::machine::{decode_status, encode_status, from_label, in_known_state, reads_status, status_type};
    pub use sqlx;
}

/// Named moments of the runtime, for tests that kill the process at each of them.
#[doc(hidden)]
pub mod __steps {
    pub use crate::steps::Step;
    #[cfg(feature = "__steps")]
    pub use crate::steps::on_step;
}
