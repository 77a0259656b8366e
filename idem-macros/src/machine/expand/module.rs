//! The module that users import from: a type a state and a type an event.

use proc_macro2::{Group, Ident, Spacing, Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::{Type, Visibility};

use super::super::diagram;
use super::super::model::{BY_STATE, Event, Model, State, unraw};
use super::text::literal;
use crate::sql::{CreateSql, EventSql, PerDialect, Statement};

/// The module, documented with the diagram and the SQL.
pub(in super::super) fn module(model: &Model, statements: &[EventSql], created: Option<&CreateSql>) -> TokenStream {
    let (module, visibility) = (&model.module, &model.visibility);
    let runtime = paths_one_deeper(super::runtime(model), &|_| false);
    let deprecated = super::allow_deprecated(model);
    let title = format!("The states and events of `{}`.", model.name());
    let picture = literal(&block("mermaid", &diagram::mermaid(model)));
    let states = model.states.iter().map(|state| marker(model, state));
    let by_state = by_state_type(model);
    let events = model.events.iter().enumerate().map(|(at, event)| {
        let sql = literal(&statements.get(at).map(|sql| documentation(&sql.enter, &sql.fire)).unwrap_or_default());
        event_type(model, event, &sql)
    });
    let new = created.map(|sql| super::create::new_type(model, sql));
    quote! {
        #[doc = #title]
        #[doc = #picture]
        // A marker is never made and needs no trait, a variant's name is the user's, and so are the prefixes that fields
        // share.
        #[allow(
            dead_code,
            missing_copy_implementations,
            missing_debug_implementations,
            non_camel_case_types,
            non_snake_case,
            clippy::pedantic,
        )]
        #deprecated
        #visibility mod #module {
            // The types of the fields are written as beside the enum.
            #[allow(unused_imports)]
            use super::*;
            use #runtime as _idem;
            #(#states)*
            #by_state
            #(#events)*
            #new
        }
    }
}

fn marker(model: &Model, state: &State) -> TokenStream {
    let (ident, machine, stored) = (&state.ident, model.name(), &state.stored);
    let visibility = one_deeper(&model.visibility, ident.span());
    let documentation = format!("State `{}` of `{machine}`, stored as `{}`.", state.name(), stored.raw());
    let notes = notes(state);
    quote_spanned! {ident.span()=>
        #[doc = #documentation]
        #notes
        #visibility struct #ident;
    }
}

/// What the variant says to readers of the code, said of its type too.
fn notes(state: &State) -> TokenStream {
    let (notes, is_described) = (&state.notes, state.notes.iter().any(|note| note.path().is_ident("doc")));
    let paragraph = is_described.then(|| quote!(#[doc = ""]));
    quote!(#paragraph #(#notes)*)
}

/// The name of the enum that holds a row by its state.
pub(super) fn by_state(model: &Model) -> Ident {
    Ident::new(BY_STATE, model.ident.span())
}

/// Matched on where it is made, so that it needs no trait. It is generic over the machine, whose name a module inside of a
/// function could not reach.
fn by_state_type(model: &Model) -> TokenStream {
    let (name, visibility) = (by_state(model), one_deeper(&model.visibility, model.ident.span()));
    let documentation = format!("A row of `{}` by its state: `match` on `row.by_state()`.", model.name());
    let variants = model.states.iter().map(|state| {
        let (ident, documentation) = (&state.ident, format!("The row is in state `{}`.", state.name()));
        quote!(#[doc = #documentation] #ident(_idem::__private::Row<__Machine, #ident>))
    });
    quote! {
        #[doc = #documentation]
        #visibility enum #name<__Machine: _idem::__private::StateMachine> {
            #(#variants,)*
        }
    }
}

/// From the state as a value to the state as a type.
pub(super) fn by_state_arms(model: &Model) -> impl Iterator<Item = TokenStream> {
    let (module, by_state) = (&model.module, by_state(model));
    model.states.iter().map(move |state| {
        let ident = &state.ident;
        quote!(Self::#ident => #module::#by_state::#ident(_idem::__private::in_known_state(__row)))
    })
}

fn event_type(model: &Model, event: &Event, sql: &TokenStream) -> TokenStream {
    let (ident, title) = (&event.type_ident, title(model, event));
    let visibility = one_deeper(&model.visibility, ident.span());
    let fields: Vec<_> = event.fields().map(|(name, ty)| field(model, name, ty)).collect();
    let body = if fields.is_empty() { quote_spanned!(ident.span()=> ;) } else { quote!({ #(#fields,)* }) };
    // Without fields the implementations are written out: a derive costs the compiler more than what it writes.
    let derive = (!fields.is_empty())
        .then(|| quote_spanned!(event.ident.span()=> #[derive(::core::fmt::Debug, ::core::clone::Clone)]));
    quote_spanned! {event.ident.span()=>
        #[doc = #title]
        #[doc = #sql]
        #derive
        #visibility struct #ident #body
    }
}

/// ``Event `pay`: `Pending => Paid`.``
fn title(model: &Model, event: &Event) -> String {
    let sources: Vec<_> = event.sources.iter().map(|source| model.state(source.state).name()).collect();
    format!("Event `{}`: `{} => {}`.", event.name(), sources.join(" | "), model.state(event.target).name())
}

pub(super) fn field(model: &Model, name: &Ident, ty: &Type) -> TokenStream {
    let visibility = one_deeper(&model.visibility, name.span());
    let documentation = format!("Written to `{}`.", unraw(name));
    let is_hidden = |ident: &Ident| {
        model.states.iter().any(|state| state.ident == *ident) || model.events.iter().any(|it| it.type_ident == *ident)
    };
    let ty = paths_one_deeper(ty.to_token_stream(), &is_hidden);
    quote!(#[doc = #documentation] #visibility #name: #ty)
}

/// The statements that write a row, the entry first where it is one of its own, as each dialect runs them.
pub(super) fn documentation(enter: &PerDialect<Option<Statement>>, row: &PerDialect<Statement>) -> String {
    let text = |sql: &Statement| format!("{};\n", sql.sql);
    let entry = |it: &Option<Statement>| it.as_ref().map(text).unwrap_or_default();
    let dialects = [
        ("PostgreSQL", String::new(), &row.postgres),
        ("MySQL", entry(&enter.mysql), &row.mysql),
        ("SQLite", entry(&enter.sqlite), &row.sqlite),
    ];
    let blocks = dialects.map(|(name, entry, row)| format!("\n{name}:\n{}", block("sql", &(entry + &text(row)))));
    blocks.concat()
}

fn block(language: &str, text: &str) -> String {
    format!("\n```{language}\n{text}```\n")
}

/// The module's name as if it stood at `span`, where an error about one of its types then points.
pub(super) fn at(model: &Model, span: Span) -> Ident {
    let mut module = model.module.clone();
    module.set_span(span);
    module
}

/// The same visibility, said from inside the module, at the token that an error about the item underlines.
pub(super) fn one_deeper(visibility: &Visibility, span: Span) -> TokenStream {
    match visibility {
        Visibility::Public(_) => quote_spanned!(span=> pub),
        Visibility::Inherited => quote_spanned!(span=> pub(super)),
        Visibility::Restricted(restricted) => {
            let path = paths_one_deeper(restricted.path.to_token_stream(), &|_| false);
            quote_spanned!(span=> pub(in #path))
        }
    }
}

/// Paths that start with `self`, `super` or a name that the module hides, said from inside the module.
fn paths_one_deeper(tokens: TokenStream, is_hidden: &dyn Fn(&Ident) -> bool) -> TokenStream {
    let (mut after_colon, mut tokens) = (false, tokens.into_iter().peekable());
    let mut deeper = TokenStream::new();
    while let Some(token) = tokens.next() {
        let is_colon = matches!(&token, TokenTree::Punct(it) if it.as_char() == ':');
        let starts = !std::mem::replace(&mut after_colon, is_colon) && !is_bound(tokens.peek());
        deeper.extend(match token {
            TokenTree::Group(group) => {
                let inner = paths_one_deeper(group.stream(), is_hidden);
                TokenTree::Group(Group::new(group.delimiter(), inner)).into_token_stream()
            }
            TokenTree::Ident(ident) if starts && ident == "self" => quote_spanned!(ident.span()=> super),
            TokenTree::Ident(ident) if starts && ident == "super" => quote_spanned!(ident.span()=> super::super),
            TokenTree::Ident(ident) if starts && is_hidden(&ident) => quote_spanned!(ident.span()=> super::#ident),
            token => token.into_token_stream(),
        });
    }
    deeper
}

/// `Item = u8` or `Item: Copy`: what comes before is a name and no path.
fn is_bound(next: Option<&TokenTree>) -> bool {
    matches!(next, Some(TokenTree::Punct(it)) if it.spacing() == Spacing::Alone && ['=', ':'].contains(&it.as_char()))
}
