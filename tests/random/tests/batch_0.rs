//! A part of the random machines: they compile, and every engine takes their statements.
#![allow(non_camel_case_types, non_snake_case, unreachable_pub, reason = "the names are random")]

use idem_random_machines::Label;

include!(concat!(env!("OUT_DIR"), "/batch_0.rs"));
