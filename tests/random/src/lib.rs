//! What the tests of random machines share: the machines, the macro as a function, and the engines.

// The macro's own tests run in its own crate.
#![cfg(not(test))]

#[path = "../../../idem-macros/src/ctxt.rs"]
mod ctxt;
#[path = "../generate/mod.rs"]
#[allow(dead_code, reason = "the build script reads more of a machine")]
mod generate;
#[path = "../../../idem-macros/src/list.rs"]
mod list;
#[path = "../../../idem-macros/src/machine/mod.rs"]
mod machine;
mod mutate;
#[path = "../../../idem-macros/src/sql/mod.rs"]
mod sql;
#[path = "../../../idem-macros/src/suggest.rs"]
mod suggest;

mod case;
mod engine;
pub mod macros;
mod walk;

pub use case::Case;
pub use engine::every_statement_prepares;
pub use walk::{Fired, Loaded, Walk, edges, fired, loaded, walk_all};

/// A type of the user's own.
#[derive(sqlx::Type, serde::Serialize, Debug, Clone, Default)]
#[sqlx(transparent)]
pub struct Label(pub String);
