//! The function that callers see.

mod lease;
mod rerun;

use proc_macro2::{Ident, Literal, Span, TokenStream};
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Expr, GenericArgument, Lifetime, PathArguments, Type};

use super::args::{Args, Parts};
use super::ast::{First, Form, Function, name_for_callers, ungrouped};
use super::check::{InDoubt, Model, Options};
use super::docs;

/// Claim the key, run the body and store its result, or replay the result that is stored.
///
/// The variables have the macro's hygiene, so that the body cannot meet them. What can fail to compile because of
/// something that the user wrote has the span of just that.
pub(crate) fn function(model: &Model<'_>) -> TokenStream {
    let Function { attrs, vis, .. } = model.function;
    let docs = docs::lines(model);
    let signature = model.called_with(begin(model.args, &model.first));
    let setup = setup(model);
    let calls = if model.options.reruns.is_some() { rerun::calls(model) } else { call(model) };
    quote_spanned! {Span::mixed_site()=>
        #(#attrs)*
        #(#[doc = #docs])*
        #vis #signature {
            #setup
            #calls
        }
    }
}

/// The type of what callers pass in place of the transaction or the attempt.
pub(crate) fn begin(args: &Args, first: &First<'_>) -> TokenStream {
    let (database, span) = (first.database, first.name.span());
    let runtime = args.runtime(span);
    match first.form {
        Form::Transaction => quote_spanned!(span=> impl #runtime::Begin<#database>),
        Form::Lease => quote_spanned!(span=> &#runtime::Idem<#database>),
    }
}

/// The key and the fingerprint are made before the body can change an argument.
fn setup(model: &Model<'_>) -> TokenStream {
    let (scope, runtime) = (model.scope, model.args.runtime(Span::mixed_site()));
    let (codec, record_err, upgrade) = (codec(model.output), record_err(model), upgrade(model));
    let options = builders(&model.options);
    let key = model.key.iter().map(|part| add_part("key", part));
    let payload = model.payload.into_iter().flat_map(Parts::iter).map(|part| add_part("payload", part));
    quote_spanned! {Span::mixed_site()=>
        use #runtime::__private as __idem;
        const __SPEC: __idem::Spec = __idem::Spec::new(#scope) #options;
        let __codec = #codec;
        #record_err
        #upgrade
        let __key = __idem::Key::new();
        #(#key)*
        let __payload = __idem::Fingerprint::new();
        #(#payload)*
    }
}

/// What was written, and nothing else.
fn builders(options: &Options<'_>) -> TokenStream {
    let Options { wait, retention, reruns, lease } = options;
    let builders = [
        ("wait_ms", *wait),
        ("retain_result_s", retention.result),
        ("retain_key_s", retention.key),
        ("rerun", reruns.map(u64::from)),
        ("lease_ms", lease.time),
    ];
    let calls = builders.into_iter().filter_map(|(name, number)| {
        let (name, number) = (format_ident!("{name}"), readable(number?));
        Some(quote!(.#name(#number)))
    });
    calls.chain([in_doubt(&lease.in_doubt)]).collect()
}

fn in_doubt(in_doubt: &InDoubt<'_>) -> TokenStream {
    match in_doubt {
        InDoubt::Held => TokenStream::new(),
        InDoubt::Probed(_) => quote!(.probes()),
        InDoubt::TakenOver => quote!(.takes_over()),
    }
}

/// The number as a person would write it, its digits in groups of three.
fn readable(number: u64) -> Literal {
    let digits = number.to_string();
    let groups: Vec<_> = digits.as_bytes().rchunks(3).rev().map(String::from_utf8_lossy).collect();
    groups.join("_").parse().unwrap_or_else(|_| Literal::u64_unsuffixed(number))
}

fn add_part(option: &str, part: &Expr) -> TokenStream {
    let span = part.span().resolved_at(Span::mixed_site());
    let (value, add) = (format_ident!("__{option}", span = span), format_ident!("{option}_part", span = span));
    let part = referenced(part);
    quote_spanned!(span=> let #value = __idem::#add(#value, #part);)
}

/// A reference to the part. Parentheses only where they must be, because they hide where the part ends from the
/// compiler's messages.
fn referenced(part: &Expr) -> TokenStream {
    match part {
        Expr::Path(_) | Expr::Field(_) | Expr::MethodCall(_) | Expr::Call(_) | Expr::Unary(_) | Expr::Lit(_) => {
            quote_spanned!(part.span()=> &#part)
        }
        part => quote_spanned!(part.span()=> &(#part)),
    }
}

/// The one place that names a bound on the types of the result, at those types.
fn codec(output: &Type) -> TokenStream {
    let (ok, err) = spans_of_result(output);
    let ok = quote_spanned!(ok=> __idem::OkOf<#output>);
    let err = quote_spanned!(err=> __idem::ErrOf<#output>);
    quote_spanned!(output.span()=> __idem::codec::<#output, #ok, #err>())
}

/// What the recording of an error asks of its type is asked at that type; that the path is a function over it, at the
/// path.
fn record_err(model: &Model<'_>) -> TokenStream {
    let Some(is_final) = &model.args.record_err else { return TokenStream::new() };
    let (output, (_, err)) = (model.output, spans_of_result(model.output));
    let record_err = quote_spanned!(err=> __idem::record_err::<#output, _, __idem::ErrOf<#output>>);
    quote_spanned!(Span::mixed_site()=> let __codec = #record_err(__codec, #is_final);)
}

/// That the path is a function that makes what the function returns, is asked at the path.
fn upgrade(model: &Model<'_>) -> TokenStream {
    let Some(upgrade) = &model.args.upgrade else { return TokenStream::new() };
    quote_spanned!(Span::mixed_site()=> let __codec = __idem::upgrade(__codec, #upgrade);)
}

/// Where `T` and `E` of a `Result<T, E>` are written; an alias hides one of them or both.
fn spans_of_result(output: &Type) -> (Span, Span) {
    let types: Vec<_> = match ungrouped(output) {
        Type::Path(path) => path.path.segments.last().map(|last| types(&last.arguments)).unwrap_or_default(),
        _ => Vec::new(),
    };
    match types[..] {
        [ok, err] => (ok.span(), err.span()),
        _ => (output.span(), output.span()),
    }
}

fn types(arguments: &PathArguments) -> Vec<&Type> {
    let PathArguments::AngleBracketed(arguments) = arguments else { return Vec::new() };
    let types = arguments.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None,
    });
    types.collect()
}

/// Runs the body once at most.
fn call(model: &Model<'_>) -> TokenStream {
    let (open, claimed, run) = (open(model), claimed(model), run(model, &TokenStream::new()));
    let (Words { claim, .. }, probe) = (Words::of(model.first.form), lease::probe(model));
    quote_spanned! {Span::mixed_site()=>
        let mut #claim = match #open { #claimed };
        #probe
        #run
        #claim.finish(__out, &__codec).await
    }
}

/// What a form has names of its own for.
struct Words {
    /// The function that claims the key.
    open: Ident,
    /// The variable of the claim.
    claim: Ident,
    /// The method that lends the body what it runs on, and the variable of that.
    lend: Ident,
    loan: Ident,
}

impl Words {
    fn of(form: Form) -> Self {
        let words = match form {
            Form::Transaction => ["open", "__claimed", "tx", "__tx"],
            Form::Lease => ["lease", "__leased", "attempt", "__attempt"],
        };
        let [open, claim, lend, loan] = words.map(|word| Ident::new(word, Span::mixed_site()));
        Self { open, claim, lend, loan }
    }
}

fn open(model: &Model<'_>) -> TokenStream {
    let (Words { open, .. }, begin) = (Words::of(model.first.form), name_for_callers(&model.first.parameter.pat));
    quote_spanned!(Span::mixed_site()=> __idem::#open(#begin, &__SPEC, __key, __payload, &__codec).await)
}

/// The claim, or the end of the call.
fn claimed(model: &Model<'_>) -> TokenStream {
    let Words { claim, .. } = Words::of(model.first.form);
    quote_spanned! {Span::mixed_site()=>
        __idem::Opened::Run(#claim) => #claim,
        __idem::Opened::Done(__result) => return __result,
    }
}

/// A clone of the argument. A type that has none is an error at the argument.
fn cloned(argument: &Ident) -> TokenStream {
    let span = argument.span().resolved_at(Span::mixed_site());
    quote_spanned!(span=> ::core::clone::Clone::clone(&#argument))
}

/// The `return` that never runs gives the block its type, so that a mistake in the body is reported where it is. The
/// transaction is a variable of the block, so that one which is moved is called by its name and rustc says `&mut *tx`; it
/// comes out of a call, or clippy would find that a `_tx` is bound for nothing. The same goes for an attempt. The arguments
/// are those of this run, if it has some of its own.
fn run(model: &Model<'_>, arguments: &TokenStream) -> TokenStream {
    let (binding, output, body) = (binding(&model.first), model.output, body(model.function));
    let Words { claim, lend, loan, .. } = Words::of(model.first.form);
    quote_spanned! {Span::mixed_site()=>
        let __inside = #claim.inside();
        let __out = {
            let #loan = #claim.#lend();
            #arguments
            __inside.run(async move { if false { return __idem::never::<#output>(); } #binding = ::core::convert::identity(#loan); #body }).await
        };
    }
}

/// The body in a block of its own. The label keeps `unused_braces` from finding the user's braces superfluous.
pub(crate) fn body(function: &Function) -> TokenStream {
    let body = &function.body;
    let label = Lifetime::new("'__body", body.span_open());
    quote!(#label: #body)
}

/// The transaction or the attempt as the body sees it, up to its value.
pub(crate) fn binding(first: &First<'_>) -> TokenStream {
    let (pat, ty) = (&first.parameter.pat, first.in_body());
    quote!(let #pat: #ty)
}
