//! Types of one value, under the lints of a strict crate and without a prelude.

#![no_implicit_prelude]
#![deny(warnings, missing_docs, unreachable_pub, deprecated)]

use ::idem_runtime as runtime;
use ::idem_runtime::prelude::*;

/// A plain newtype.
#[derive(KeyPart)]
pub struct OrderId(pub i64);

/// With a name, a lifetime and a bound of its own.
#[derive(KeyPart)]
#[key(crate = runtime)]
pub struct Name<'a, T: ?::core::marker::Sized + 'a>
where
    T: ::core::cmp::Eq,
{
    /// What it holds.
    pub text: &'a T,
}

/// An identifier that says of what.
#[derive(KeyPart)]
pub struct Id<T, const N: usize>(pub ::std::string::String, pub ::core::marker::PhantomData<T>);

/// Its variants have the names of what an expansion could use.
#[derive(KeyPart)]
#[deprecated]
#[non_exhaustive]
pub enum Channel {
    /// Text.
    Part,
    /// Nothing.
    #[deprecated]
    None,
    /// A keyword.
    #[key(rename = "self")]
    #[allow(non_camel_case_types)]
    r#type,
}

fn is_part<T: KeyPart + ?::core::marker::Sized>() {}

fn main() {
    is_part::<OrderId>();
    is_part::<Name<'_, str>>();
    is_part::<Id<(), 7>>();
    #[allow(deprecated)]
    is_part::<Channel>();
    is_part::<::core::option::Option<::std::boxed::Box<OrderId>>>();
}
