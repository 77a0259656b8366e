//! The rules of the options that say how a function runs.

use std::time::Duration;

use proc_macro2::TokenStream;
use quote::ToTokens as _;
use syn::{Ident, LitInt, Receiver, ReceiverKind, Type};

use super::super::args::{Args, Kept, Retain, Time};
use super::super::ast::{First, Form, Function, ungrouped};
use super::super::docs::tidy;
use super::lease::{self, Lease};
use crate::ctxt::Ctxt;

/// What the options ask for, where they are written.
pub(crate) struct Options<'a> {
    /// Milliseconds.
    pub(crate) wait: Option<u64>,
    pub(crate) retention: Retention,
    pub(crate) reruns: Option<u32>,
    pub(crate) lease: Lease<'a>,
}

/// Seconds; nothing is for ever.
#[derive(Default)]
pub(crate) struct Retention {
    pub(crate) result: Option<u64>,
    pub(crate) key: Option<u64>,
}

/// Applies the rules. What breaks one is reported and left out.
pub(super) fn resolve<'a>(cx: &Ctxt, args: &'a Args, function: &Function, first: Option<&First<'_>>) -> Options<'a> {
    if let Some(first) = first {
        check_other_form(cx, args, first, &function.sig.ident);
    }
    let is = |form| first.is_some_and(|first| first.form == form);
    Options {
        wait: args.wait.as_ref().and_then(|wait| check_wait(cx, wait)),
        retention: args.retain.as_ref().map(|retain| retention(cx, retain)).unwrap_or_default(),
        reruns: args.rerun.as_ref().filter(|_| !is(Form::Lease)).and_then(|often| reruns(cx, often, function)),
        lease: if is(Form::Transaction) { Lease::default() } else { lease::resolve(cx, args, function) },
    }
}

/// One transaction has no lease, and what a body has done outside of one cannot be rolled back for another run.
fn check_other_form(cx: &Ctxt, args: &Args, first: &First<'_>, function: &Ident) {
    let database = tidy(first.database.to_token_stream());
    let (options, runs, help): (&[_], _, _) = match first.form {
        Form::Transaction => (
            &["lease", "on_expired", "downstream"],
            "runs in one transaction",
            format!("remove it, or take `attempt: &mut Attempt<'_, {database}>` in place of the transaction"),
        ),
        Form::Lease => (&["rerun"], "runs under a lease", "remove it: it would run an outside call again".to_owned()),
    };
    for option in options.iter().filter_map(|option| args.name(option)) {
        cx.error(option, format_args!("`{option}` is not for `{function}`, which {runs}\nhelp: {help}"));
    }
}

const LONGEST_WAIT: Duration = Duration::from_hours(24);

/// The runtime counts milliseconds, and no database waits for a lock for as long as one likes.
fn check_wait(cx: &Ctxt, wait: &Time) -> Option<u64> {
    let millis = whole(wait.span, Duration::from_millis(1)).filter(|_| wait.span <= LONGEST_WAIT);
    if millis.is_none() {
        cx.error(
            &wait.text,
            format_args!(
                "a duplicate cannot wait for `{}`\nhelp: write whole milliseconds, a day at most",
                wait.text.value()
            ),
        );
    }
    millis
}

/// A key without a time of its own is kept for ever; a result without one, as long as its key.
fn retention(cx: &Ctxt, retain: &Retain) -> Retention {
    let [result, key] = [&retain.result, &retain.key].map(Option::as_ref);
    if let (Some(result), Some(key)) = (result, key) {
        check_result_outlives_key(cx, result, key);
    }
    let result = result.map(|result| check_retention(cx, result));
    let key = key.and_then(|key| check_retention(cx, key));
    Retention { result: result.unwrap_or(key), key }
}

/// Without its key a result cannot be found.
fn check_result_outlives_key(cx: &Ctxt, result: &Kept, key: &Kept) {
    if let (Some(result_ends), Some(key_ends)) = (end(result), end(key))
        && result_ends > key_ends
    {
        let needed = tidy(result.to_token_stream());
        cx.error(result, format_args!("the result outlives its key\nhelp: keep the key as long: `key = {needed}`"));
    }
}

/// In seconds after the call; nothing where that is an error of its own.
fn end(kept: &Kept) -> Option<u64> {
    match kept {
        Kept::For(time) => seconds(time),
        Kept::Forever(_) => Some(u64::MAX),
    }
}

/// The database counts seconds, and has to know the moment at which the last of them ends.
fn check_retention(cx: &Ctxt, kept: &Kept) -> Option<u64> {
    let Kept::For(time) = kept else { return None };
    let seconds = seconds(time);
    if seconds.is_none() {
        let written = time.text.value();
        let help = "write whole seconds, from `1s` to `100y`, or `forever`";
        cx.error(&time.text, format_args!("nothing can be kept for `{written}`\nhelp: {help}"));
    }
    seconds
}

const LONGEST_RETENTION: Duration = Duration::from_hours(100 * 366 * 24);

fn seconds(time: &Time) -> Option<u64> {
    let seconds = whole(time.span, Duration::from_secs(1));
    seconds.filter(|seconds| *seconds > 0 && time.span <= LONGEST_RETENTION)
}

/// How often the span is as long as the unit, if there is nothing left of it.
pub(super) fn whole(span: Duration, unit: Duration) -> Option<u64> {
    let (span, unit) = (span.as_nanos(), unit.as_nanos());
    if span % unit == 0 { u64::try_from(span / unit).ok() } else { None }
}

fn reruns(cx: &Ctxt, often: &LitInt, function: &Function) -> Option<u32> {
    check_taken_once(cx, function, "a body that runs again");
    check_rerun(cx, often)
}

const MOST_RERUNS: u32 = 100;

/// Without the option no body runs again, and one that is given up again and again keeps its caller waiting.
fn check_rerun(cx: &Ctxt, reruns: &LitInt) -> Option<u32> {
    let number = reruns.base10_parse().ok().filter(|reruns| (1..=MOST_RERUNS).contains(reruns));
    if number.is_none() {
        let is_zero = reruns.base10_digits().trim_start_matches('0').is_empty();
        let help = if is_zero { "leave `rerun` out, and no body runs again" } else { "write a number from 1 to 100" };
        cx.error(reruns, format_args!("no body runs again `{reruns}` times\nhelp: {help}"));
    }
    number
}

/// Two runs, or a probe and a run, cannot both have a value, nor what only one can borrow. An argument that has no clone
/// is the compiler's to find.
pub(super) fn check_taken_once(cx: &Ctxt, function: &Function, subject: &str) {
    if let Some(receiver) = function.sig.receiver().filter(|receiver| !is_shared(receiver)) {
        report_taken_once(cx, subject, receiver.to_token_stream(), "`&self`");
    }
    for argument in function.typed().skip(1) {
        if let Type::Reference(reference) = ungrouped(&argument.ty)
            && reference.mutability.is_some()
        {
            report_taken_once(cx, subject, reference.to_token_stream(), "a value that is `Clone`");
        }
    }
}

fn is_shared(receiver: &Receiver) -> bool {
    match &receiver.kind {
        ReceiverKind::Reference(_, _, mutability) => mutability.is_none(),
        ReceiverKind::Typed(_, ty) => {
            matches!(ungrouped(ty), Type::Reference(reference) if reference.mutability.is_none())
        }
        _ => false,
    }
}

fn report_taken_once(cx: &Ctxt, subject: &str, taken: TokenStream, instead: &str) {
    let written = tidy(taken.clone());
    cx.error(taken, format_args!("{subject} cannot take `{written}` twice\nhelp: take {instead}"));
}
