//! From the model to tokens. What can be a function is one in the runtime: here are names, constants and calls.

mod create;
mod events;
mod module;
mod statements;
mod text;
mod values;

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};

use super::diagram;
use super::model::{Assignment, Model, Note, State, type_text};
use crate::sql;

/// The module with the types of the states and events, and all implementations.
pub(super) fn machine(model: &Model) -> TokenStream {
    with(model, &row(model), &TokenStream::new())
}

/// The same with another `row`, and with an arm for variants that the model does not have.
pub(super) fn with(model: &Model, row: &TokenStream, other_variants: &TokenStream) -> TokenStream {
    let statements: Vec<_> = model.events.iter().map(|event| sql::event(model, event)).collect();
    let created = sql::create(model);
    let module = module::module(model, &statements, created.as_ref());
    let items = [
        inherent(model, row, other_variants),
        state_machine(model, &statements, other_variants),
        identifier(model),
        capabilities(model),
        states(model),
        values::all(model),
        events::all(model),
        create::all(model, created.as_ref()),
    ];
    let scope = scope(model, &items);
    quote!(#module #scope)
}

/// Everything that users do not name stands in here, where `_idem` is the runtime.
fn scope(model: &Model, items: &[TokenStream]) -> TokenStream {
    let (runtime, deprecated) = (runtime(model), allow_deprecated(model));
    quote! {
        #deprecated
        const _: () = {
            use #runtime as _idem;
            #(#items)*
        };
    }
}

pub(super) fn runtime(model: &Model) -> TokenStream {
    model.krate.as_ref().map_or(quote!(::idem_runtime), |path| quote!(#path))
}

/// Whoever deprecates a state still has rows in it.
fn allow_deprecated(model: &Model) -> Option<TokenStream> {
    model.states.iter().any(State::is_deprecated).then(|| quote!(#[allow(deprecated)]))
}

/// `row` and `allows`, which is no method of the trait because a `const fn` cannot be.
fn inherent(model: &Model, row: &TokenStream, other_variants: &TokenStream) -> TokenStream {
    let (machine, visibility) = (&model.ident, &model.visibility);
    let states = model.states.len();
    let edges = model.edges().map(|(event, source)| {
        let (source, target) = (source.state.0, event.target.0);
        quote!((#source, #target))
    });
    let arms = model.states.iter().enumerate().map(|(index, state)| {
        let state = &state.ident;
        quote!(#machine::#state => #index)
    });
    quote! {
        const __GRAPH: _idem::__private::Graph<#states> = _idem::__private::Graph::new(&[#(#edges),*]);
        const fn __index(state: &#machine) -> usize {
            match state { #(#arms,)* #other_variants }
        }
        #[automatically_derived]
        #[allow(dead_code, non_snake_case)]
        impl #machine {
            #row
            /// Whether a transition leads from `from` to `to`.
            #[must_use]
            #visibility const fn allows(from: Self, to: Self) -> bool {
                __GRAPH.allows(__index(&from), __index(&to))
            }
        }
    }
}

/// `row`, with an argument for each column of the identifier.
pub(super) fn row(model: &Model) -> TokenStream {
    let visibility = &model.visibility;
    let names: Vec<_> = model.id.iter().map(|column| &column.ident).collect();
    let types = model.id.iter().map(|column| &column.ty);
    let id = tuple(&names);
    quote! {
        /// Names a row by its identifier; nothing is loaded.
        #visibility fn row(#(#names: #types),*) -> _idem::__private::Handle<Self> {
            _idem::__private::Handle::new(#id)
        }
    }
}

/// One part by itself, several as a tuple.
fn tuple(parts: &[impl quote::ToTokens]) -> TokenStream {
    match parts {
        [part] => quote!(#part),
        parts => quote!((#(#parts),*)),
    }
}

/// The type of the identifier.
fn id_type(model: &Model) -> TokenStream {
    tuple(&model.id.iter().map(|column| &column.ty).collect::<Vec<_>>())
}

fn state_machine(model: &Model, statements: &[sql::EventSql], other_variants: &TokenStream) -> TokenStream {
    let (machine, name, table, id) = (&model.ident, model.name(), &model.table, id_type(model));
    let (states, initial) = (model.states.iter().map(|state| &state.ident), &model.state(model.initial).ident);
    let (mermaid, dot) = (text::literal(&diagram::mermaid(model)), text::literal(&diagram::dot(model)));
    let (transitions, sql, events) = (transitions(model), statements::machine(model), events(model, statements));
    let names = model.states.iter().map(State::name);
    let (stored, labels) = (model.states.iter().map(|it| it.stored.raw()), model.states.iter().map(|it| &it.label));
    let copies = model.states.iter().map(|state| &state.ident);
    let (module, by_state, typed) = (&model.module, module::by_state(model), module::by_state_arms(model));
    let (aliases, repr, columns) = (values::aliases(model), values::repr(model), columns(model));
    quote! {
        #[automatically_derived]
        impl _idem::__private::StateMachine for #machine {
            type Id = #id;
            type ByState = #module::#by_state<Self>;
            const SPEC: &'static _idem::__private::MachineSpec<Self> = &_idem::__private::MachineSpec {
                name: #name,
                table: #table,
                states: &[#(Self::#states),*],
                names: &[#(#names),*],
                stored: &[#(#stored),*],
                labels: &[#(#labels),*],
                repr: #repr,
                aliases: &[#(#aliases),*],
                transitions: &[#(#transitions),*],
                mermaid: #mermaid,
                dot: #dot,
                sql: #sql,
                events: &[#(#events),*],
                columns: #columns,
            };
            const INITIAL: Self = Self::#initial;
            fn index(&self) -> ::core::primitive::usize {
                __index(self)
            }
            fn copied(&self) -> Self {
                match self { #(Self::#copies => Self::#copies,)* #other_variants }
            }
            fn by_state(__row: _idem::__private::Row<Self>) -> Self::ByState {
                match __row.state() { #(#typed,)* #other_variants }
            }
        }
    }
}

fn transitions(model: &Model) -> impl Iterator<Item = TokenStream> {
    model.edges().map(|(event, source)| {
        let (name, source, target) = (event.name(), &model.state(source.state).ident, &model.state(event.target).ident);
        quote!(_idem::__private::Transition { event: #name, source: Self::#source, target: Self::#target })
    })
}

/// The columns by name, each with the Rust type that is bound to it, for whoever compares them with a live schema.
fn columns(model: &Model) -> TokenStream {
    let id = model.id.iter().map(|column| (column.name(), type_text(&column.ty)));
    let id = id.map(|(name, ty)| quote!((#name, #ty)));
    let (status, version) = (&model.status, option(model.version.as_ref()));
    let history = option(model.history.as_ref().map(|history| &history.table));
    let notes = model.history.iter().flat_map(|history| &history.notes).map(|note| note.column());
    let set = model.events.iter().map(|event| assigned(&event.assignments));
    let new = assigned(model.create.as_ref().map_or(&[], |create| &create.columns));
    quote! {
        _idem::__private::Columns {
            id: &[#(#id),*],
            status: #status,
            version: #version,
            history: #history,
            notes: &[#(#notes),*],
            set: &[#(#set),*],
            new: #new,
        }
    }
}

fn assigned(assignments: &[Assignment]) -> TokenStream {
    let all = assignments.iter().map(|it| (it.name(), option(it.field().map(type_text))));
    let all = all.map(|(name, ty)| quote!((#name, #ty)));
    quote!(&[#(#all),*])
}

fn option(value: Option<impl quote::ToTokens>) -> TokenStream {
    value.map_or_else(|| quote!(::core::option::Option::None), |value| quote!(::core::option::Option::Some(#value)))
}

/// The statements stand here and not with the event's type: rustc evaluates every constant that another one names.
fn events(model: &Model, statements: &[sql::EventSql]) -> impl Iterator<Item = TokenStream> {
    model.events.iter().zip(statements).map(|(event, sql)| {
        let (name, sql) = (event.name(), statements::event(model, sql));
        quote!((#name, &#sql))
    })
}

/// The identifier's columns, bound on any database that can store their types.
fn identifier(model: &Model) -> TokenStream {
    let (machine, types) = (&model.ident, events::distinct(model.id.iter().map(|column| &column.ty)));
    let values: Vec<_> = match model.id.as_slice() {
        [column] => vec![(&column.ty, quote!(__id))],
        columns => columns.iter().enumerate().map(|(at, it)| (&it.ty, part(at))).collect(),
    };
    let bind = events::bind(&quote!(bind_id), &quote!(__id: &Self::Id), &values);
    let nothing = model.id.is_empty().then(bind_nothing);
    quote! {
        impl<__DB> _idem::__private::MachineOn<__DB> for #machine
        where
            __DB: _idem::__private::sqlx::Database #(+ _idem::__private::Binds<#types>)*,
        {
            #bind
            #nothing
        }
    }
}

/// Only after an error does an identifier have no columns.
fn bind_nothing() -> TokenStream {
    quote! {
        fn bind_id(
            _: &Self::Id,
            _: &mut __DB::Arguments,
        ) -> ::core::result::Result<(), _idem::__private::BoxDynError> {
            ::core::result::Result::Ok(())
        }
    }
}

/// A part of the identifier that is a tuple.
fn part(at: usize) -> TokenStream {
    let at = syn::Index::from(at);
    quote!(&__id.#at)
}

/// What its calls may ask for.
fn capabilities(model: &Model) -> TokenStream {
    let machine = &model.ident;
    let history = model.history.as_ref().map(|_| quote!(HasHistory));
    let version = model.version.as_ref().map(|_| quote!(HasVersion));
    let notes = model.history.iter().flat_map(|history| &history.notes).map(|note| match note {
        Note::Actor => quote!(HasActor),
        Note::Metadata => quote!(HasMetadata),
    });
    let traits = history.into_iter().chain(version).chain(notes);
    quote! {
        #(
            #[automatically_derived]
            impl _idem::__private::#traits for #machine {}
        )*
    }
}

fn states(model: &Model) -> TokenStream {
    let machine = &model.ident;
    let states = model.states.iter().map(|state| {
        let (module, state) = (module::at(model, state.ident.span()), &state.ident);
        quote_spanned! {state.span()=>
            #[automatically_derived]
            impl _idem::__private::State<#machine> for #module::#state {
                const STATE: #machine = #machine::#state;
            }
        }
    });
    quote!(#(#states)*)
}
