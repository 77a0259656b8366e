//! A part of the random machines: they compile, every engine takes their statements, and rows move as they say.
#![allow(non_camel_case_types, non_snake_case, unreachable_pub, reason = "the names are random")]
#![allow(clippy::doc_markdown, clippy::needless_pub_self, reason = "and so are the words around them")]
#![allow(clippy::default_trait_access, clippy::match_single_binding, reason = "nobody wrote the code")]

#[allow(unused_imports, reason = "a few machines may do without")]
use idem_random_machines::Label;

include!(concat!(env!("OUT_DIR"), "/batch_3.rs"));
