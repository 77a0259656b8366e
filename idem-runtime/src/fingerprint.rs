//! The hash that tells one payload from another.

use serde::Serialize;
use serde_json::Value;
use sha2::{Digest, Sha256};

use crate::error::Error;
use crate::json;

/// Hashes the parts of a payload into one text: `v1:` and 64 hexadecimal digits.
///
/// Each part is written as JSON without white space, the keys of every object sorted by their bytes, and is preceded by
/// its length, so that two payloads have one fingerprint only if their parts are equal one by one.
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
            None => Ok(hexadecimal(&self.hash.finalize())),
        }
    }
}

fn hexadecimal(digest: &[u8]) -> String {
    use std::fmt::Write as _;
    digest.iter().fold("v1:".to_owned(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
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
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    fn of(parts: &[Value]) -> String {
        parts.iter().fold(Fingerprint::new(), Fingerprint::part).finish().unwrap()
    }

    /// Stored by running services: these never change. Each was computed by another program.
    #[test]
    fn golden_vectors() {
        use serde_json::json;
        let cases = [
            (vec![], "v1:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
            (vec![json!(1999), json!("CNY")], "v1:d6b8ee6c94f46bb159e698117f53c1ca30660600f7afe27e21a9c72702539468"),
            (
                vec![json!({"b": {"é": -1, "ä": "\n"}, "a": [1.5, null, true]})],
                "v1:08060e4c4fa5e09ab4bb8b5dab05991ac09d8af9fdf5cc74c87855604e548889",
            ),
        ];
        for (parts, expected) in cases {
            assert_eq!(of(&parts), expected, "{parts:?}");
        }
    }

    #[test]
    fn the_order_of_a_map_does_not_count_and_the_order_of_parts_does() {
        use serde_json::json;
        let one: HashMap<_, _> = (0..50).map(|n| (format!("k{n}"), n)).collect();
        let two: HashMap<_, _> = (0..50).rev().map(|n| (format!("k{n}"), n)).collect();
        let of_map = |map| Fingerprint::new().part(map).finish().unwrap();
        assert_eq!(of_map(&one), of_map(&two));
        assert_ne!(of(&[json!("a"), json!("b")]), of(&[json!("b"), json!("a")]));
        assert_ne!(of(&[json!("ab"), json!("")]), of(&[json!("a"), json!("b")]));
        assert_ne!(of(&[json!(1)]), of(&[json!("1")]));
    }
}
