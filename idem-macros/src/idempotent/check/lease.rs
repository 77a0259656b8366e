//! The rules of a function under a lease.

use std::time::Duration;

use quote::ToTokens as _;
use syn::{ExprPath, Ident, Pat, PatIdent, PatType};

use super::super::args::{Args, OnExpired, Time};
use super::super::ast::Function;
use super::super::docs::tidy;
use super::options::{check_taken_once, whole};
use crate::ctxt::Ctxt;

/// What the options ask for, where they are written.
#[derive(Default)]
pub(crate) struct Lease<'a> {
    /// Milliseconds.
    pub(crate) time: Option<u64>,
    pub(crate) in_doubt: InDoubt<'a>,
}

/// What becomes of a record whose lease is over while it is in doubt.
#[derive(Default)]
pub(crate) enum InDoubt<'a> {
    #[default]
    Held,
    Probed(&'a ExprPath),
    TakenOver,
}

/// Applies the rules. What breaks one is reported and left out.
pub(super) fn resolve<'a>(cx: &Ctxt, args: &'a Args, function: &Function) -> Lease<'a> {
    if let Some(downstream) = &args.downstream
        && check_downstream_without_takeover(cx, args)
    {
        check_downstream(cx, downstream);
    }
    Lease { time: args.lease.as_ref().and_then(|lease| check_lease(cx, lease)), in_doubt: in_doubt(cx, args, function) }
}

const LONGEST_LEASE: Duration = Duration::from_hours(24);

/// The database counts milliseconds, and what a killed process has held is held until its lease is over.
fn check_lease(cx: &Ctxt, lease: &Time) -> Option<u64> {
    let millis = whole(lease.span, Duration::from_millis(1));
    let millis = millis.filter(|millis| *millis > 0 && lease.span <= LONGEST_LEASE);
    if millis.is_none() {
        let written = lease.text.value();
        let help = "write whole milliseconds, from `1ms` to `24h`";
        cx.error(&lease.text, format_args!("a claim cannot be leased for `{written}`\nhelp: {help}"));
    }
    millis
}

fn in_doubt<'a>(cx: &Ctxt, args: &'a Args, function: &Function) -> InDoubt<'a> {
    match &args.on_expired {
        None | Some(OnExpired::Hold) => InDoubt::Held,
        Some(OnExpired::Probe(path)) => {
            check_taken_once(cx, function, "a function with a probe");
            function.typed().skip(1).for_each(|argument| check_probe_argument(cx, argument));
            InDoubt::Probed(path)
        }
        Some(OnExpired::Takeover(word)) => {
            check_takeover_without_downstream(cx, args, word);
            InDoubt::TakenOver
        }
        Some(OnExpired::Unknown(word)) => {
            check_on_expired(cx, word);
            InDoubt::Held
        }
    }
}

/// What happens in doubt is one of three.
fn check_on_expired(cx: &Ctxt, word: &Ident) {
    let help = "write `hold`, `probe(path)` or `takeover`";
    cx.error(word, format_args!("unknown policy `{word}` in `on_expired`\nhelp: {help}"));
}

/// The probe is given each argument by its name, in a call, where nothing can be left out.
fn check_probe_argument(cx: &Ctxt, argument: &PatType) {
    for attr in &argument.attrs {
        if attr.path().is_ident("cfg") || attr.path().is_ident("cfg_attr") {
            cx.error(
                attr,
                "a probe cannot be given what is not always there\nhelp: write the whole function once for each case",
            );
        }
    }
    if !matches!(&*argument.pat, Pat::Ident(PatIdent { by_ref: None, subpat: None, .. })) {
        let written = tidy(argument.pat.to_token_stream());
        cx.error(
            &argument.pat,
            format_args!(
                "a probe cannot be given `{written}`\nhelp: give the argument a name, and take it apart in the body"
            ),
        );
    }
}

/// A body that runs again calls the outside world again: that is one effect only if the provider makes it one.
fn check_takeover_without_downstream(cx: &Ctxt, args: &Args, takeover: &Ident) {
    if !args.meant("downstream") {
        cx.error(
            takeover,
            "missing `downstream` beside `takeover`\n\
             help: write `downstream = idempotent` if the provider honours the downstream key: a second call with it does nothing",
        );
    }
}

/// The promise is asked for where it is needed, so that nobody relies on it elsewhere. Answers whether it is.
fn check_downstream_without_takeover(cx: &Ctxt, args: &Args) -> bool {
    let may_take_over = match &args.on_expired {
        None => args.meant("on_expired"),
        Some(policy) => matches!(policy, OnExpired::Takeover(_) | OnExpired::Unknown(_)),
    };
    if !may_take_over {
        cx.error(
            args.name("downstream"),
            "`downstream` has no effect without `takeover`\nhelp: remove it, or write `on_expired = takeover`",
        );
    }
    may_take_over
}

/// There is one promise that helps.
fn check_downstream(cx: &Ctxt, promise: &Ident) {
    if promise != "idempotent" {
        let help = "write `downstream = idempotent` if the provider honours the downstream key";
        cx.error(promise, format_args!("expected `idempotent`, found `{promise}`\nhelp: {help}"));
    }
}
