//! What an answer was written from: so that one function is not given the answer of another, whose scope is the same.

use std::any::type_name;

use crate::error::Error;

/// The version of the way in which answers are written.
const VERSION: &str = "v1:";

/// The kind of a type's answers: the version, and the type's name. A type keeps its kind when it moves to another module.
pub(super) fn of<T: ?Sized>() -> String {
    format!("{VERSION}{}", without_paths(type_name::<T>()))
}

/// Whether an answer was written from the type of `wanted`. One that is older than kinds may have been.
pub(super) fn is_of(stored: Option<&str>, wanted: &str) -> Result<bool, Error> {
    match stored {
        Some(stored) if !stored.starts_with(VERSION) => Err(Error::Configuration(
            "an answer was stored by a later version of idem, in a way that this one does not know",
        )),
        stored => Ok(stored.is_none_or(|stored| stored == wanted)),
    }
}

/// The name for a person.
pub(super) fn name(kind: &str) -> String {
    kind.strip_prefix(VERSION).unwrap_or(kind).to_owned()
}

/// `Option<Receipt>` of `core::option::Option<shop::pay::Receipt>`.
fn without_paths(name: &str) -> String {
    let mut short = String::with_capacity(name.len());
    let mut segment = 0;
    for c in name.chars() {
        short.push(c);
        if short.ends_with("::") {
            short.truncate(segment);
        } else if !(c.is_alphanumeric() || c == '_' || c == ':') {
            segment = short.len();
        }
    }
    short
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    struct Receipt;

    #[test]
    fn a_kind_names_a_type_without_its_modules() {
        let kinds = [
            of::<()>(),
            of::<Receipt>(),
            of::<Option<Receipt>>(),
            of::<BTreeMap<String, (Receipt, Vec<Receipt>)>>(),
            of::<[Receipt; 2]>(),
            of::<Box<str>>(),
        ];
        let expected = [
            "v1:()",
            "v1:Receipt",
            "v1:Option<Receipt>",
            "v1:BTreeMap<String, (Receipt, Vec<Receipt>)>",
            "v1:[Receipt; 2]",
            "v1:Box<str>",
        ];
        assert_eq!(kinds, expected);
    }

    #[test]
    fn an_answer_is_of_its_type_only() {
        assert!(is_of(None, "v1:Receipt").unwrap(), "it is older than kinds");
        assert!(is_of(Some("v1:Receipt"), "v1:Receipt").unwrap());
        assert!(!is_of(Some("v1:Refund"), "v1:Receipt").unwrap());
        assert!(matches!(is_of(Some("v2:Receipt"), "v1:Receipt"), Err(Error::Configuration(_))));
    }
}
