//! JSON that can be read back as what was written.

mod option;

use std::cell::Cell;

use serde::de::DeserializeOwned;
use serde::ser::{
    Error as _, Serialize, SerializeMap, SerializeSeq, SerializeStruct, SerializeStructVariant, SerializeTuple,
    SerializeTupleStruct, SerializeTupleVariant, Serializer,
};
use serde_json::{Error, Result, Value};

/// Writes a value. A value that is itself an `Option`, of whatever, is told from every other one; see [`option`].
///
/// # Errors
///
/// When JSON would make it another value: it has one `null` for `None`, `Some(None)` and `Some(())`, and for the floats
/// that are no number.
pub(crate) fn to_string<T: Serialize + ?Sized>(value: &T) -> Result<String> {
    let somes = Cell::new(0);
    value.serialize(Faithful { somes: Some(&somes) })?;
    Ok(option::wrapped(serde_json::to_string(value)?, somes.get()))
}

/// Reads what [`to_string`] wrote.
pub(crate) fn from_str<T: DeserializeOwned>(text: &str) -> Result<T> {
    T::deserialize(option::Root(text))
}

/// The same as a tree.
pub(crate) fn to_value<T: Serialize + ?Sized>(value: &T) -> Result<Value> {
    value.serialize(INNER)?;
    serde_json::to_value(value)
}

/// Looks at a value as `serde_json` would write it.
#[derive(Clone, Copy)]
struct Faithful<'a> {
    /// Where the value is the whole one, counts the `Some`s around it.
    somes: Option<&'a Cell<usize>>,
}

/// Looks at a part of a value.
const INNER: Faithful<'static> = Faithful { somes: None };

/// What a value is written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Written {
    Null,
    Something,
}

macro_rules! written_as {
    ($written:ident: $($method:ident($($Argument:ty),*))*) => {
        $(fn $method(self, $(_: $Argument),*) -> Result<Written> {
            Ok(Written::$written)
        })*
    };
}

macro_rules! parts {
    ($($method:ident($($Argument:ty),*);)*) => {
        $(fn $method(self, $(_: $Argument),*) -> Result<Self> {
            Ok(INNER)
        })*
    };
}

impl Serializer for Faithful<'_> {
    type Ok = Written;
    type Error = Error;
    type SerializeSeq = Self;
    type SerializeTuple = Self;
    type SerializeTupleStruct = Self;
    type SerializeTupleVariant = Self;
    type SerializeMap = Self;
    type SerializeStruct = Self;
    type SerializeStructVariant = Self;

    written_as! { Something:
        serialize_bool(bool) serialize_char(char) serialize_str(&str) serialize_bytes(&[u8])
        serialize_i8(i8) serialize_i16(i16) serialize_i32(i32) serialize_i64(i64) serialize_i128(i128)
        serialize_u8(u8) serialize_u16(u16) serialize_u32(u32) serialize_u64(u64) serialize_u128(u128)
        serialize_unit_variant(&'static str, u32, &'static str)
    }
    written_as! { Null: serialize_none() serialize_unit() serialize_unit_struct(&'static str) }
    parts! {
        serialize_seq(Option<usize>);
        serialize_tuple(usize);
        serialize_tuple_struct(&'static str, usize);
        serialize_tuple_variant(&'static str, u32, &'static str, usize);
        serialize_map(Option<usize>);
        serialize_struct(&'static str, usize);
        serialize_struct_variant(&'static str, u32, &'static str, usize);
    }

    fn serialize_f32(self, value: f32) -> Result<Written> {
        self.serialize_f64(value.into())
    }

    fn serialize_f64(self, value: f64) -> Result<Written> {
        if value.is_finite() { Ok(Written::Something) } else { Err(Error::custom("JSON has no such float")) }
    }

    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Result<Written> {
        if let Some(somes) = self.somes {
            somes.set(somes.get() + 1);
            return value.serialize(self);
        }
        match value.serialize(self)? {
            Written::Null => Err(Error::custom("JSON cannot tell this `Some` from `None`")),
            written @ Written::Something => Ok(written),
        }
    }

    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Result<Written> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        value: &T,
    ) -> Result<Written> {
        value.serialize(INNER).map(|_| Written::Something)
    }
}

macro_rules! compound {
    ($($Trait:ident { $($method:ident($($Name:ty)?))* })*) => {
        $(impl $Trait for Faithful<'_> {
            type Ok = Written;
            type Error = Error;

            $(fn $method<T: Serialize + ?Sized>(&mut self, $(_: $Name,)? value: &T) -> Result<()> {
                value.serialize(INNER).map(drop)
            })*

            fn end(self) -> Result<Written> {
                Ok(Written::Something)
            }
        })*
    };
}

compound! {
    SerializeSeq { serialize_element() }
    SerializeTuple { serialize_element() }
    SerializeTupleStruct { serialize_field() }
    SerializeTupleVariant { serialize_field() }
    SerializeMap { serialize_key() serialize_value() }
    SerializeStruct { serialize_field(&'static str) }
    SerializeStructVariant { serialize_field(&'static str) }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use serde::Serialize;

    use super::*;

    #[derive(Serialize)]
    struct Receipt<T> {
        note: T,
    }

    #[derive(Serialize)]
    struct Marker;

    #[derive(Serialize)]
    enum Choice<T> {
        One(T),
        Two { note: T },
    }

    #[test]
    fn what_json_would_make_another_value_is_refused() {
        assert!(to_string(&[Some(())]).is_err());
        assert!(to_string(&Some([Some(None::<i64>)])).is_err());
        assert!(to_string(&(Some(Marker), 1)).is_err());
        assert!(to_string(&f64::NAN).is_err());
        assert!(to_string(&[1.0, f32::INFINITY]).is_err());
        assert!(to_string(&Receipt { note: Some(None::<i64>) }).is_err());
        assert!(to_string(&(1, Choice::One(Some(())))).is_err());
        assert!(to_string(&BTreeMap::from([("k", Choice::Two { note: vec![Some(())] })])).is_err());
        assert!(to_value(&Some(())).is_err());
    }

    #[test]
    fn a_float_is_read_back_as_itself() {
        for n in 1..10_000_u32 {
            let float = f64::from(n * 7_919) / 1e13 * f64::from(n);
            let written = to_string(&float).unwrap();
            assert_eq!(serde_json::from_str::<f64>(&written).unwrap().to_bits(), float.to_bits(), "{written}");
        }
    }

    #[test]
    fn everything_else_is_written() {
        assert_eq!(to_string(&()).unwrap(), "null");
        assert_eq!(to_string(&None::<i64>).unwrap(), "null");
        assert_eq!(to_string(&Some(Some(0))).unwrap(), "0");
        assert_eq!(to_string(&Receipt { note: None::<i64> }).unwrap(), r#"{"note":null}"#);
        assert_eq!(to_string(&(Some(1.5), Choice::One(()), Some("x"))).unwrap(), r#"[1.5,{"One":null},"x"]"#);
    }
}
