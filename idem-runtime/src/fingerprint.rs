//! The hash that tells one payload from another.

use serde::Serialize;
use serde_json::{Number, Value};
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::hexadecimal::hexadecimal;
use crate::json;

/// The version of the texts that are made here. Another one is a text of another kind: the old kind then stays, to be
/// compared with the records that have it.
const VERSION: &str = "v1:";

/// Hashes the parts of a payload into one text: `v1:` and 64 hexadecimal digits.
///
/// Each part is written as JSON without white space, the keys of every object sorted by their bytes and numbers written in
/// one form (`1`, `1.0` and `1e0` are equal), and is preceded by its length, so that two payloads have one fingerprint only
/// if their parts are equal one by one.
#[derive(Debug, Default)]
pub struct Fingerprint {
    hash: Sha256,
    failed: Option<serde_json::Error>,
}

impl Fingerprint {
    /// A fingerprint of no parts.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a part; the first one that cannot be serialized makes the whole fingerprint an error.
    #[must_use]
    pub fn part<T: Serialize + ?Sized>(mut self, part: &T) -> Self {
        match json::to_value(part) {
            Ok(value) => {
                let text = canonical(&value);
                self.hash.update((text.len() as u64).to_be_bytes());
                self.hash.update(text);
            }
            Err(error) => self.failed = self.failed.or(Some(error)),
        }
        self
    }

    pub(crate) fn finish(self) -> Result<String, Error> {
        match self.failed {
            Some(error) => Err(Error::Unencodable { what: "the payload", source: error }),
            None => Ok(format!("{VERSION}{}", hexadecimal(&self.hash.finalize()))),
        }
    }
}

/// Compares the fingerprint of a record with that of a call.
///
/// # Errors
///
/// [`Error::Mismatch`], or, when nobody here can tell, [`Error::Configuration`]: a release that was taken back does not
/// know what the newer one wrote, and neither replays its result nor says that the payload was another one.
pub(crate) fn compare(recorded: &str, ours: &str) -> Result<(), Error> {
    match recorded {
        _ if recorded == ours => Ok(()),
        _ if recorded.starts_with(VERSION) => Err(Error::Mismatch),
        _ => {
            Err(Error::Configuration("the record has a fingerprint that is not of this version: a newer idem wrote it"))
        }
    }
}

/// JSON with sorted keys. `serde_json`'s own order depends on a feature that any crate of the build may turn on.
fn canonical(value: &Value) -> String {
    match value {
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(canonical).collect();
            format!("[{}]", items.join(","))
        }
        Value::Object(fields) => {
            let mut fields: Vec<_> = fields.iter().collect();
            fields.sort_by_key(|(name, _)| *name);
            let fields: Vec<_> = fields
                .into_iter()
                .map(|(name, value)| format!("{}:{}", Value::from(name.as_str()), canonical(value)))
                .collect();
            format!("{{{}}}", fields.join(","))
        }
        Value::Number(number) => numeral(number),
        scalar => scalar.to_string(),
    }
}

/// A number without an exponent, by the fewest digits that give it back, whichever type it has: `1`, `1.0` and `1e0` are
/// one, and so are `0` and `-0.0`. Integers up to 64 bits are exact; `serde_json`'s own text of a float is not used, since
/// it has changed with its version.
fn numeral(number: &Number) -> String {
    match (number.as_i64(), number.as_u64(), number.as_f64()) {
        (Some(integer), ..) => integer.to_string(),
        (_, Some(integer), _) => integer.to_string(),
        // Zero takes the sign off of another zero.
        (.., Some(float)) => (float + 0.0).to_string(),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests;
