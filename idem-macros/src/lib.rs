//! The macros of idem. Users name `idem-runtime`, which re-exports and documents them.

mod ctxt;
mod idempotent;
mod machine;
mod sql;
mod suggest;

use proc_macro::TokenStream;

/// Derives a state machine: a transition table that is checked while compiling, and the SQL that moves a row along it.
#[proc_macro_derive(StateMachine, attributes(machine, state, transition))]
pub fn derive_state_machine(input: TokenStream) -> TokenStream {
    machine::derive(input.into()).into()
}

/// Makes a service function idempotent: the first call runs its body, every later one replays the result.
#[proc_macro_attribute]
pub fn idempotent(arguments: TokenStream, item: TokenStream) -> TokenStream {
    idempotent::attribute(arguments.into(), item.into()).into()
}
