//! The function as written. Its body stays tokens: the compiler reads it, and an editor completes in it even while it
//! does not parse.

use proc_macro2::{Delimiter, Group, Span, TokenStream, TokenTree};
use quote::{ToTokens as _, format_ident, quote};
use syn::parse::{ParseStream, Parser as _};
use syn::visit::Visit as _;
use syn::{
    AttrStyle, Attribute, FnArg, GenericArgument, Ident, LitStr, Pat, PatIdent, PatType, PathArguments, ReturnType,
    Signature, Token, Type, TypePath, TypeReference, Visibility, parse_quote,
};

use super::args::Names;
use crate::ctxt::Ctxt;

/// A function or a method.
pub(crate) struct Function {
    pub(crate) attrs: Vec<Attribute>,
    pub(crate) vis: Visibility,
    pub(crate) sig: Signature,
    pub(crate) body: Group,
}

impl Function {
    /// Reads the item below the attribute; anything but a function with a body is reported.
    pub(crate) fn from_syn(cx: &Ctxt, item: &TokenStream) -> Option<Self> {
        Self::parse.parse2(item.clone()).map_err(|error| cx.push(error)).ok()
    }

    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut attrs = input.call(Attribute::parse_outer)?;
        let vis = input.parse()?;
        if !starts_a_function(input) {
            return Err(not_a_function(input));
        }
        let sig: Signature = input.parse()?;
        if input.peek(Token![;]) {
            return Err(no_body(&sig));
        }
        let (inner, body) = without_inner_attributes(body(input)?)?;
        attrs.extend(inner);
        Ok(Self { attrs, vis, sig, body })
    }

    /// The parameter that says how the body runs: the first one after a receiver.
    pub(crate) fn first(&self) -> Option<&PatType> {
        self.typed().next()
    }

    /// The names that a key or a payload can use.
    pub(crate) fn arguments(&self) -> Vec<String> {
        let receiver = self.sig.receiver().map(|_| "self".to_owned());
        receiver.into_iter().chain(self.bound_after(1).into_iter().map(Ident::to_string)).collect()
    }

    /// The variables of the parameters after the receiver and `skipped` others.
    pub(crate) fn bound_after(&self, skipped: usize) -> Vec<&Ident> {
        let mut names = Names::default();
        self.typed().skip(skipped).for_each(|parameter| names.visit_pat(&parameter.pat));
        names.bound
    }

    /// Whether it is an argument that stands where the transaction or the attempt should: once that is there, it can be
    /// named.
    pub(crate) fn is_in_place_of_first(&self, name: &Ident) -> bool {
        let first = self.first().filter(|first| First::from_syn(first).is_none());
        first.is_some_and(|first| matches!(&*first.pat, Pat::Ident(pat) if pat.ident == *name))
    }

    /// The return type, if one is written.
    pub(crate) fn output(&self) -> Option<&Type> {
        match &self.sig.output {
            ReturnType::Default => None,
            ReturnType::Type(_, output) => Some(output),
        }
    }

    /// Whether the future is written out, or was by `#[async_trait]`, and hides the `Result`.
    pub(crate) fn returns_a_future(&self) -> bool {
        self.sig.asyncness.is_none()
            && self.output().is_some_and(|output| match ungrouped(output) {
                Type::Path(path) => path.path.segments.last().is_some_and(|last| is_boxed_future(&last.ident)),
                output => matches!(output, Type::ImplTrait(_)),
            })
    }

    /// The signature that callers see: the first parameter keeps its name and gets the type `ty`.
    pub(crate) fn called_with(&self, ty: TokenStream) -> Signature {
        let mut sig = self.sig.clone();
        let first = sig.inputs.iter_mut().find_map(|input| match input {
            FnArg::Typed(parameter) => Some(parameter),
            FnArg::Receiver(_) => None,
        });
        if let Some(parameter) = first {
            let name = name_for_callers(&parameter.pat);
            *parameter.pat = parse_quote!(#name);
            *parameter.ty = Type::Verbatim(ty);
        }
        sig
    }

    /// The parameters, without a receiver.
    pub(crate) fn typed(&self) -> impl Iterator<Item = &PatType> {
        self.sig.inputs.iter().filter_map(|input| match input {
            FnArg::Typed(parameter) => Some(parameter),
            FnArg::Receiver(_) => None,
        })
    }
}

/// The signature with variables that do not change.
pub(crate) fn without_mut(mut sig: Signature) -> Signature {
    for input in &mut sig.inputs {
        if let FnArg::Typed(parameter) = input {
            *parameter.pat = Pat::Verbatim(fixed(parameter.pat.to_token_stream()));
        }
    }
    sig
}

/// The pattern without the `mut` of its variables; that of `&mut` and of `ref mut` says what it matches.
fn fixed(pat: TokenStream) -> TokenStream {
    let mut binds = true;
    let fixed = pat.into_iter().filter_map(|token| {
        let is_mut = matches!(&token, TokenTree::Ident(word) if binds && word == "mut");
        binds = !matches!(&token.to_string()[..], "&" | "ref");
        (!is_mut).then(|| inside_of_groups(token))
    });
    fixed.collect()
}

fn inside_of_groups(token: TokenTree) -> TokenTree {
    let TokenTree::Group(group) = token else { return token };
    let mut inside = Group::new(group.delimiter(), fixed(group.stream()));
    inside.set_span(group.span());
    inside.into()
}

/// The caller's parameter is another variable than the one that the body sees under the same name: its hygiene is the
/// macro's.
pub(crate) fn name_for_callers(pat: &Pat) -> Ident {
    match pat {
        Pat::Ident(PatIdent { ident, .. }) => {
            let mut name = ident.clone();
            name.set_span(ident.span().resolved_at(Span::mixed_site()));
            name
        }
        _ => format_ident!("begin", span = Span::mixed_site()),
    }
}

/// How the body runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Form {
    /// In one transaction.
    Transaction,
    /// Under a lease.
    Lease,
}

impl Form {
    fn from_syn(name: &Ident) -> Option<Self> {
        if name == "Tx" {
            Some(Self::Transaction)
        } else if name == "Attempt" {
            Some(Self::Lease)
        } else {
            None
        }
    }
}

/// `tx: &mut Tx<'_, DB>` or `attempt: &mut Attempt<'_, DB>`.
pub(crate) struct First<'a> {
    pub(crate) form: Form,
    pub(crate) parameter: &'a PatType,
    reference: &'a TypeReference,
    path: &'a TypePath,
    /// The path's last segment.
    pub(crate) name: &'a Ident,
    pub(crate) database: &'a Type,
}

impl<'a> First<'a> {
    /// The parameter, if its type is a mutable reference to something called `Tx` or `Attempt`.
    pub(crate) fn from_syn(parameter: &'a PatType) -> Option<Self> {
        let Type::Reference(reference) = ungrouped(&parameter.ty) else { return None };
        let Type::Path(path) = ungrouped(&reference.elem) else { return None };
        let last = path.path.segments.last()?;
        let form = Form::from_syn(&last.ident)?;
        let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
        let Some(GenericArgument::Type(database)) = arguments.args.last() else { return None };
        reference.mutability.map(|_| Self { form, parameter, reference, path, name: &last.ident, database })
    }

    /// The type of the variable in the body. The lifetimes are the call's, whatever the signature calls them.
    pub(crate) fn in_body(&self) -> TokenStream {
        let TypeReference { and_token, mutability, .. } = self.reference;
        let mut path = self.path.clone();
        let database = self.database;
        if let Some(last) = path.path.segments.last_mut() {
            last.arguments = PathArguments::AngleBracketed(parse_quote!(<'_, #database>));
        }
        quote!(#and_token #mutability #path)
    }
}

/// A type that came through a `macro_rules!` is inside of an invisible group.
pub(crate) fn ungrouped(ty: &Type) -> &Type {
    match ty {
        Type::Group(group) => ungrouped(&group.elem),
        Type::Paren(paren) => ungrouped(&paren.elem),
        ty => ty,
    }
}

fn is_boxed_future(name: &Ident) -> bool {
    ["Pin", "BoxFuture", "LocalBoxFuture"].iter().any(|boxed| name == boxed)
}

fn starts_a_function(input: ParseStream<'_>) -> bool {
    let ahead = input.fork();
    while ahead.peek(Token![const]) || ahead.peek(Token![async]) || ahead.peek(Token![unsafe]) || is_abi(&ahead) {
        if ahead.parse::<TokenTree>().is_err() {
            return false;
        }
    }
    ahead.peek(Token![fn])
}

fn is_abi(input: ParseStream<'_>) -> bool {
    input.peek(Token![extern]) || input.peek(LitStr)
}

fn not_a_function(input: ParseStream<'_>) -> syn::Error {
    input.error(
        "`#[idempotent]` takes a function\nhelp: write it on an `async fn`, which the methods of a trait impl call",
    )
}

/// Only a trait has functions without a body.
fn no_body(sig: &Signature) -> syn::Error {
    syn::Error::new_spanned(&sig.ident, super::check::delegate(&sig.ident))
}

/// A body that came through a `macro_rules!` is inside of an invisible group.
fn body(input: ParseStream<'_>) -> syn::Result<Group> {
    match input.fork().parse() {
        Ok(TokenTree::Group(group)) if group.delimiter() == Delimiter::None => {
            input.parse::<TokenTree>()?;
            body.parse2(group.stream())
        }
        _ => input.parse(),
    }
}

/// An inner attribute is for the whole function, not for the block that the body becomes.
fn without_inner_attributes(body: Group) -> syn::Result<(Vec<Attribute>, Group)> {
    let split = |input: ParseStream<'_>| Ok((input.call(Attribute::parse_inner)?, input.parse::<TokenStream>()?));
    let (mut attrs, rest) = split.parse2(body.stream())?;
    if attrs.is_empty() {
        return Ok((attrs, body));
    }
    for attr in &mut attrs {
        attr.style = AttrStyle::Outer;
    }
    let mut block = Group::new(body.delimiter(), rest);
    block.set_span(body.span());
    Ok((attrs, block))
}
