//! A whole value that is an `Option`: JSON alone has one `null` for `None`, `Some(None)` and `Some(())`.
//!
//! `Some` of what would be read as something else is written as `{"$some":..}`: of `null`, and of what begins like that.

use serde::Deserializer;
use serde::de::Visitor;
use serde_json::{Error, Result};

const SOME: &str = "{\"$some\":";

/// Writes a value inside of that many `Some`s.
pub(super) fn wrapped(inner: String, somes: usize) -> String {
    (0..somes).fold(
        inner,
        |inner, _| {
            if inner == "null" || inner.starts_with(SOME) { format!("{SOME}{inner}}}") } else { inner }
        },
    )
}

/// Reads a value, the whole text.
pub(super) struct Root<'de>(pub(super) &'de str);

impl<'de> Root<'de> {
    fn read<T>(
        self,
        read: impl FnOnce(&mut serde_json::Deserializer<serde_json::de::StrRead<'de>>) -> Result<T>,
    ) -> Result<T> {
        let mut text = serde_json::Deserializer::from_str(self.0);
        let value = read(&mut text)?;
        text.end()?;
        Ok(value)
    }
}

macro_rules! as_text {
    ($($method:ident($($argument:ident: $Argument:ty),*))*) => {
        $(fn $method<V: Visitor<'de>>(self, $($argument: $Argument,)* visitor: V) -> Result<V::Value> {
            self.read(|text| text.$method($($argument,)* visitor))
        })*
    };
}

impl<'de> Deserializer<'de> for Root<'de> {
    type Error = Error;

    as_text! {
        deserialize_any() deserialize_ignored_any() deserialize_identifier()
        deserialize_bool() deserialize_char() deserialize_str() deserialize_string()
        deserialize_bytes() deserialize_byte_buf()
        deserialize_i8() deserialize_i16() deserialize_i32() deserialize_i64() deserialize_i128()
        deserialize_u8() deserialize_u16() deserialize_u32() deserialize_u64() deserialize_u128()
        deserialize_f32() deserialize_f64()
        deserialize_unit() deserialize_unit_struct(name: &'static str)
        deserialize_seq() deserialize_tuple(len: usize) deserialize_tuple_struct(name: &'static str, len: usize)
        deserialize_map() deserialize_struct(name: &'static str, fields: &'static [&'static str])
        deserialize_enum(name: &'static str, variants: &'static [&'static str])
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value> {
        match self.0.strip_prefix(SOME).and_then(|rest| rest.strip_suffix('}')) {
            Some(inner) => visitor.visit_some(Root(inner)),
            None if self.0 == "null" => visitor.visit_none(),
            None => visitor.visit_some(self),
        }
    }

    fn deserialize_newtype_struct<V: Visitor<'de>>(self, _: &'static str, visitor: V) -> Result<V::Value> {
        visitor.visit_newtype_struct(self)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::fmt::Debug;

    use serde::de::DeserializeOwned;
    use serde::{Deserialize, Serialize};

    use crate::json::{from_str, to_string};

    fn check<T: Serialize + DeserializeOwned + PartialEq + Debug>(value: &T, written: &str) {
        assert_eq!(to_string(value).unwrap(), written);
        assert_eq!(from_str::<T>(written).unwrap(), *value, "{written}");
    }

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Marker;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Wrapper<T>(T);

    #[test]
    fn every_option_is_read_back_as_itself() {
        type Deep = Option<Option<Option<i64>>>;
        check::<Deep>(&None, "null");
        check::<Deep>(&Some(None), r#"{"$some":null}"#);
        check::<Deep>(&Some(Some(None)), r#"{"$some":{"$some":null}}"#);
        check::<Deep>(&Some(Some(Some(7))), "7");
        check(&Some(()), r#"{"$some":null}"#);
        check(&Some(Marker), r#"{"$some":null}"#);
        check(&Wrapper(Some(None::<i64>)), r#"{"$some":null}"#);
        check(&Some(serde_json::Value::Null), r#"{"$some":null}"#);
        check(&Some(vec![None, Some(1)]), "[null,1]");
    }

    #[test]
    fn a_map_that_looks_like_an_option_is_read_back_as_itself() {
        let map = || BTreeMap::from([("$some".to_owned(), 1), ("b".to_owned(), 2)]);
        check(&map(), r#"{"$some":1,"b":2}"#);
        check(&Some(map()), r#"{"$some":{"$some":1,"b":2}}"#);
        check(&Some(Some(map())), r#"{"$some":{"$some":{"$some":1,"b":2}}}"#);
    }

    #[test]
    fn large_integers_stay_and_what_follows_is_an_error() {
        check(&Some(i128::MIN), "-170141183460469231731687303715884105728");
        assert!(from_str::<i64>("1 2").is_err());
        assert!(from_str::<Option<i64>>(r#"{"$some":1}}"#).is_err());
    }
}
