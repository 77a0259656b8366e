//! What an entry of the history says beside the move: who asked for it, and whatever else is worth keeping.

use serde::Serialize;

use super::StateMachine;
use crate::dialect::{BoxDynError, SqlDialect};
use crate::error::Error;
use crate::json;

/// As much as the column holds, in characters.
const LONGEST_ACTOR: usize = 255;

/// What a call gives for the entry that it will write.
#[derive(Debug, Default)]
pub(super) struct Note {
    actor: Option<String>,
    metadata: Option<Result<String, Error>>,
}

impl Note {
    pub(super) fn set_actor(&mut self, actor: String) {
        self.actor = Some(actor);
    }

    pub(super) fn set_metadata<T: Serialize + ?Sized>(&mut self, metadata: &T) {
        let written = json::to_string(metadata);
        self.metadata = Some(written.map_err(|source| Error::Unencodable { what: "the metadata", source }));
    }

    /// What a column can hold of it.
    pub(super) fn check(self) -> Result<CheckedNote, Error> {
        let fault = match &self.actor {
            Some(actor) if actor.trim().is_empty() => Some("an actor cannot be empty"),
            Some(actor) if actor.chars().count() > LONGEST_ACTOR => Some("an actor is longer than 255 characters"),
            Some(actor) if actor.contains('\0') => Some("an actor cannot hold NUL"),
            _ => None,
        };
        match fault {
            Some(reason) => Err(Error::InvalidKey { reason }),
            None => Ok(CheckedNote { actor: self.actor, metadata: self.metadata.transpose()? }),
        }
    }
}

/// A [`Note`] whose values were found to be good.
pub(super) struct CheckedNote {
    actor: Option<String>,
    metadata: Option<String>,
}

impl CheckedNote {
    /// Binds a value for each of the columns that the machine's history has for it.
    pub(super) fn bind<M: StateMachine, DB: SqlDialect>(
        &self,
        arguments: &mut DB::Arguments,
    ) -> Result<(), BoxDynError> {
        M::SPEC.columns.notes.iter().try_for_each(|column| match *column {
            "actor" => DB::bind(arguments, &self.actor),
            _ => DB::bind(arguments, &self.metadata),
        })
    }
}
