//! Records and audit entries as they are read.

use std::time::Duration;

use crate::dialect::SqlDialect;
use crate::record::{Status, Stored};

/// A record, as it was when it was read. All times are by the database's clock.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct StoredRecord {
    /// Of the function.
    pub scope: String,
    /// The key as text, as it is stored: the parts of a tuple joined by `/`.
    pub key: String,
    /// What has become of the call.
    pub status: Status,
    /// Which attempt has written it, from 1 on. 0 where one transaction holds the claim.
    pub attempt: i64,
    /// A name of the attempt's own.
    pub owner: String,
    /// What the attempts may have done already: the names of their outside calls, and `tx` for a commit.
    pub begun: Vec<String>,
    /// The hash of the payload.
    pub fingerprint: String,
    /// How long ago the first attempt began.
    pub age: Duration,
    /// How long ago it was last written.
    pub unwritten_for: Duration,
    /// How long the attempt's lease goes on. `None`: it is over, or there is none, and nothing is running.
    pub lease_left: Option<Duration>,
}

/// A record with its answer, and what operators have done to it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct ShownRecord {
    /// The record.
    pub record: StoredRecord,
    /// The result of a completed call, or the error of a failed one, as JSON.
    pub answer: Option<String>,
    /// The type that the answer was written from, as it is stored. `None` for one that an operator wrote as JSON.
    pub answer_type: Option<String>,
    /// The audit entries of the scope and the key, the oldest first.
    pub audit: Vec<AuditEntry>,
}

/// What an operator has done.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct AuditEntry {
    /// When, by the database's clock, in UTC: `2026-02-28 13:05:00.123`.
    pub at: String,
    /// Who.
    pub actor: String,
    /// `complete` or `release`.
    pub action: String,
    /// Why.
    pub reason: String,
    /// The record as it was before, as JSON.
    pub record: String,
    /// What it was completed with, as JSON.
    pub result: Option<String>,
}

/// A record, and of its row what only an audit entry or a condition needs.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) record: StoredRecord,
    pub(super) answer: Option<Stored>,
    /// As it is stored.
    pub(super) begun: Option<String>,
    created_at: Option<String>,
    updated_at: Option<String>,
    lease_until: Option<String>,
}

/// A record in the words of an audit entry.
#[derive(serde::Serialize)]
struct Was<'r> {
    status: &'static str,
    attempt: i64,
    owner: &'r str,
    begun: &'r [String],
    fingerprint: &'r str,
    created_at: Option<&'r str>,
    updated_at: Option<&'r str>,
    lease_until: Option<&'r str>,
}

impl StoredRecord {
    fn of<DB: SqlDialect>(row: &DB::Row) -> Result<Self, sqlx::Error> {
        let text = |column| DB::text(row, column).map(Option::unwrap_or_default);
        let elapsed = |column| Ok::<_, sqlx::Error>(DB::integer(row, column)?.map(milliseconds));
        Ok(Self {
            scope: text("scope")?,
            key: text("key")?,
            status: Status::of_row::<DB>(row)?,
            attempt: DB::integer(row, "attempt")?.unwrap_or_default(),
            owner: text("owner")?,
            begun: DB::text(row, "begun")?.map(names).unwrap_or_default(),
            fingerprint: text("fingerprint")?,
            age: elapsed("age_ms")?.unwrap_or_default(),
            unwritten_for: elapsed("unwritten_ms")?.unwrap_or_default(),
            lease_left: elapsed("lease_ms")?,
        })
    }

    /// Whether nothing has happened to the record between two readings of it.
    pub(super) fn is_as(&self, other: &Self) -> bool {
        let parts = |it: &Self| (it.status, it.attempt);
        parts(self) == parts(other) && self.owner == other.owner && self.begun == other.begun
    }
}

/// The list as it is stored. What is none, some hand has written: it is shown as it is.
fn names(text: String) -> Vec<String> {
    serde_json::from_str(&text).unwrap_or_else(|_| vec![text])
}

/// A clock that was put back makes no time negative.
fn milliseconds(number: i64) -> Duration {
    Duration::from_millis(u64::try_from(number).unwrap_or_default())
}

impl Found {
    pub(super) fn of<DB: SqlDialect>(row: &DB::Row) -> Result<Self, sqlx::Error> {
        let kind = DB::text(row, "result_type")?;
        Ok(Self {
            record: StoredRecord::of::<DB>(row)?,
            answer: DB::text(row, "result")?.map(|text| Stored { text, kind }),
            begun: DB::text(row, "begun")?,
            created_at: DB::text(row, "created_text")?,
            updated_at: DB::text(row, "updated_text")?,
            lease_until: DB::text(row, "lease_text")?,
        })
    }

    pub(super) fn shown(self, audit: Vec<AuditEntry>) -> ShownRecord {
        let (answer, answer_type) = self.answer.map(|it| (it.text, it.kind)).unzip();
        ShownRecord { record: self.record, answer, answer_type: answer_type.flatten(), audit }
    }

    /// It as JSON, for an audit entry.
    pub(super) fn json(&self) -> serde_json::Result<String> {
        let StoredRecord { status, attempt, owner, begun, fingerprint, .. } = &self.record;
        serde_json::to_string(&Was {
            status: status.name(),
            attempt: *attempt,
            owner,
            begun,
            fingerprint,
            created_at: self.created_at.as_deref(),
            updated_at: self.updated_at.as_deref(),
            lease_until: self.lease_until.as_deref(),
        })
    }
}

impl AuditEntry {
    pub(super) fn of<DB: SqlDialect>(row: &DB::Row) -> Result<Self, sqlx::Error> {
        let text = |column| DB::text(row, column).map(Option::unwrap_or_default);
        Ok(Self {
            at: text("at_text")?,
            actor: text("actor")?,
            action: text("action")?,
            reason: text("reason")?,
            record: text("record")?,
            result: DB::text(row, "result")?,
        })
    }
}
