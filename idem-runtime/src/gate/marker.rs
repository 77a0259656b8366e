use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::record::{Ending, Record, Status, Stored};

/// What stands in Redis for a call.
#[derive(Debug)]
pub(super) enum Marker {
    /// Nothing.
    None,
    Running,
    /// With its record, where Redis may answer.
    Ended(Option<Arc<Record>>),
    /// There was no answer, or one that this release does not know.
    Unknown,
}

const RUNNING: &str = "running ";
const ENDED: &str = "ended";

/// A record as Redis keeps it.
#[derive(Serialize, Deserialize)]
struct Kept {
    failed: bool,
    fingerprint: String,
    text: String,
    kind: Option<String>,
}

impl Marker {
    pub(super) fn running(owner: &str) -> String {
        format!("{RUNNING}{owner}")
    }

    /// With the record, unless that is too large.
    pub(super) fn ended(record: Option<&Record>, most_bytes: usize) -> String {
        let kept = record.and_then(Kept::of).filter(|kept| kept.text.len() <= most_bytes);
        let text = kept.and_then(|kept| serde_json::to_string(&kept).ok());
        text.map_or_else(|| ENDED.to_owned(), |text| format!("{ENDED} {text}"))
    }

    pub(super) fn read(text: &[u8]) -> Self {
        let Ok(text) = std::str::from_utf8(text) else { return Self::Unknown };
        match text.strip_prefix(ENDED) {
            Some("") => Self::Ended(None),
            Some(kept) => Self::Ended(serde_json::from_str(kept).ok().map(|kept: Kept| Arc::new(kept.into_record()))),
            None if text.starts_with(RUNNING) => Self::Running,
            None => Self::Unknown,
        }
    }
}

impl Kept {
    fn of(record: &Record) -> Option<Self> {
        let answer = record.answer.as_ref()?;
        Some(Self {
            failed: record.status == Status::Failed,
            fingerprint: record.fingerprint.clone(),
            text: answer.text.clone(),
            kind: answer.kind.clone(),
        })
    }

    fn into_record(self) -> Record {
        let status = if self.failed { Status::Failed } else { Status::Completed };
        let answer = Stored { text: self.text, kind: self.kind };
        Ending { status, answer, is_unit: false }.recorded(self.fingerprint)
    }
}
