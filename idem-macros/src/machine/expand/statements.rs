//! Statements as constants of the runtime's types.

use proc_macro2::TokenStream;
use quote::quote;

use super::super::model::Model;
use crate::sql::{self, Bind, EventSql, PerDialect, Statement};

/// A `MachineSql`.
pub(super) fn machine(model: &Model) -> TokenStream {
    let load = per_dialect(&sql::load(model), statement);
    let history = sql::history(model).map(|history| per_dialect(&history, |sql| quote!(#sql)));
    let history = option(history.as_ref());
    let once = model.history.as_ref().is_some_and(|history| history.once);
    let versions = model.version.is_some();
    let columns = sql::columns(model);
    let definitions = per_dialect(&columns.definitions, |sql| quote!(#sql));
    let unknown_values = per_dialect(&columns.unknown_values, |sql| quote!(#sql));
    let optional = |it: &Option<String>| option(it.as_ref().map(|sql| quote!(#sql)).as_ref());
    let (status_type, widen) = (per_dialect(&columns.status_type, optional), per_dialect(&columns.widen, optional));
    quote! {
        _idem::__private::MachineSql {
            load: #load,
            history: #history,
            once: #once,
            versions: #versions,
            status_type: #status_type,
            columns: #definitions,
            widen: #widen,
            unknown_values: #unknown_values,
        }
    }
}

/// An `EventSql`.
pub(super) fn event(sql: &EventSql) -> TokenStream {
    let (fire, fire_at) = (per_dialect(&sql.fire, statement), per_dialect(&sql.fire_at, statement));
    let optional = |it: &Option<Statement>| option(it.as_ref().map(statement).as_ref());
    let (enter, enter_at) = (per_dialect(&sql.enter, optional), per_dialect(&sql.enter_at, optional));
    let explain = per_dialect(&sql.explain, statement);
    quote! {
        _idem::__private::EventSql {
            fire: #fire,
            fire_at: #fire_at,
            enter: #enter,
            enter_at: #enter_at,
            explain: #explain,
        }
    }
}

fn per_dialect<T>(all: &PerDialect<T>, tokens: impl Fn(&T) -> TokenStream) -> TokenStream {
    let (postgres, mysql, sqlite) = (tokens(&all.postgres), tokens(&all.mysql), tokens(&all.sqlite));
    quote!(_idem::__private::PerDialect { postgres: #postgres, mysql: #mysql, sqlite: #sqlite })
}

fn option(value: Option<&TokenStream>) -> TokenStream {
    value.map_or(quote!(::core::option::Option::None), |value| quote!(::core::option::Option::Some(#value)))
}

fn statement(statement: &Statement) -> TokenStream {
    let sql = &statement.sql;
    let binds = statement.binds.iter().map(|bind| match bind {
        Bind::Fields => quote!(_idem::__private::Bind::Fields),
        Bind::Id => quote!(_idem::__private::Bind::Id),
        Bind::Version => quote!(_idem::__private::Bind::Version),
        Bind::Cause => quote!(_idem::__private::Bind::Cause),
        Bind::Fingerprint => quote!(_idem::__private::Bind::Fingerprint),
    });
    quote!(_idem::__private::Statement { sql: #sql, binds: &[#(#binds),*] })
}
