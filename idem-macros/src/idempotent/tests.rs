//! Expansions, as a person would read them.

mod lease;
mod options;

use expect_test::{Expect, expect};
use proc_macro2::{Delimiter, Group, TokenStream};
use quote::{ToTokens, quote};
use syn::{Expr, Signature, parse_quote};

use super::attribute;
use super::docs::tidy;

fn check(arguments: TokenStream, item: TokenStream, expected: &Expect) {
    let file = syn::parse2(attribute(arguments, item)).expect("an expansion is a list of items");
    expected.assert_eq(&prettyplease::unparse(&file));
}

#[test]
fn a_free_function() {
    check(
        quote!(scope = "order.pay", key = (tenant_id, order.id), payload = amount + 1),
        quote! {
            /// Pays an order.
            pub async fn pay(tx: &mut Tx<'_, Sqlite>, tenant_id: i64, order: &Order, amount: i64) -> Answer<Receipt> {
                charge(tx, order, amount).await
            }
        },
        &expect![[r#"
            /// Pays an order.
            ///
            ///# Idempotent
            ///
            ///One effect for each `(tenant_id, order.id)` in the scope `order.pay`: the first call runs the body, every later one replays its
            ///result. Pass `&Idem<Sqlite>`, or `&mut *tx` inside of another idempotent body.
            ///
            ///```text
            ///async fn pay(tx: &mut Tx<'_, Sqlite>, tenant_id: i64, order: &Order, amount: i64) -> Answer<Receipt>
            ///async fn pay(tx: impl Begin<Sqlite>, tenant_id: i64, order: &Order, amount: i64) -> Answer<Receipt>
            ///```
            ///
            ///# Errors
            ///
            ///Those of the body, and those of idem itself, such as a duplicate that is in progress or has another payload.
            pub async fn pay(
                tx: impl ::idem_runtime::Begin<Sqlite>,
                tenant_id: i64,
                order: &Order,
                amount: i64,
            ) -> Answer<Receipt> {
                use ::idem_runtime::__private as __idem;
                const __SPEC: __idem::Spec = __idem::Spec::new("order.pay");
                let __codec = __idem::codec::<
                    Answer<Receipt>,
                    __idem::OkOf<Answer<Receipt>>,
                    __idem::ErrOf<Answer<Receipt>>,
                >();
                let __key = __idem::Key::new();
                let __key = __idem::key_part(__key, &tenant_id);
                let __key = __idem::key_part(__key, &order.id);
                let __payload = __idem::Fingerprint::new();
                let __payload = __idem::payload_part(__payload, &(amount + 1));
                let mut __claimed = match __idem::open(tx, &__SPEC, __key, __payload, &__codec).await
                {
                    __idem::Opened::Run(__claimed) => __claimed,
                    __idem::Opened::Done(__result) => return __result,
                };
                let __inside = __claimed.inside();
                let __out = {
                    let __tx = __claimed.tx();
                    __inside
                        .run(async move {
                            if false {
                                return __idem::never::<Answer<Receipt>>();
                            }
                            let tx: &mut Tx<'_, Sqlite> = ::core::convert::identity(__tx);
                            '__body: { charge(tx, order, amount).await }
                        })
                        .await
                };
                __claimed.finish(__out, &__codec).await
            }
        "#]],
    );
}

#[test]
fn a_method_in_a_crate_that_renamed_the_runtime() {
    check(
        quote!(scope = "shop.close", key = self.id, crate = crate::rt),
        quote! {
            /// Closes the shop.
            ///
            /// # Errors
            ///
            /// When it is open.
            async fn close<'a, DB: SqlDialect>(&self, _tx: &'a mut rt::Tx<'a, DB>) -> Result<(), Error> {
                #![expect(clippy::todo)]
                todo!()
            }
        },
        &expect![[r#"
            /// Closes the shop.
            ///
            /// # Errors
            ///
            /// When it is open.
            #[expect(clippy::todo)]
            ///
            ///# Idempotent
            ///
            ///One effect for each `self.id` in the scope `shop.close`: the first call runs the body, every later one replays its
            ///result. Pass `&Idem<DB>`, or `&mut *tx` inside of another idempotent body.
            ///
            ///```text
            ///async fn close<'a, DB: SqlDialect>(&self, _tx: &'a mut rt::Tx<'a, DB>) -> Result<(), Error>
            ///async fn close<'a, DB: SqlDialect>(&self, _tx: impl Begin<DB>) -> Result<(), Error>
            ///```
            async fn close<'a, DB: SqlDialect>(
                &self,
                _tx: impl crate::rt::Begin<DB>,
            ) -> Result<(), Error> {
                use crate::rt::__private as __idem;
                const __SPEC: __idem::Spec = __idem::Spec::new("shop.close");
                let __codec = __idem::codec::<
                    Result<(), Error>,
                    __idem::OkOf<Result<(), Error>>,
                    __idem::ErrOf<Result<(), Error>>,
                >();
                let __key = __idem::Key::new();
                let __key = __idem::key_part(__key, &self.id);
                let __payload = __idem::Fingerprint::new();
                let mut __claimed = match __idem::open(_tx, &__SPEC, __key, __payload, &__codec)
                    .await
                {
                    __idem::Opened::Run(__claimed) => __claimed,
                    __idem::Opened::Done(__result) => return __result,
                };
                let __inside = __claimed.inside();
                let __out = {
                    let __tx = __claimed.tx();
                    __inside
                        .run(async move {
                            if false {
                                return __idem::never::<Result<(), Error>>();
                            }
                            let _tx: &mut rt::Tx<'_, DB> = ::core::convert::identity(__tx);
                            '__body: { todo!() }
                        })
                        .await
                };
                __claimed.finish(__out, &__codec).await
            }
        "#]],
    );
}

#[test]
fn a_function_that_records_errors() {
    check(
        quote!(scope = "order.pay", key = order_id, record_err = PayError::is_final),
        quote! {
            async fn pay(tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<(), PayError> {
                Ok(())
            }
        },
        &expect![[r#"
            ///
            ///# Idempotent
            ///
            ///One effect for each `order_id` in the scope `order.pay`: the first call runs the body, every later one replays its
            ///result. Pass `&Idem<Sqlite>`, or `&mut *tx` inside of another idempotent body.
            ///
            ///```text
            ///async fn pay(tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<(), PayError>
            ///async fn pay(tx: impl Begin<Sqlite>, order_id: i64) -> Result<(), PayError>
            ///```
            ///
            ///An error that `PayError::is_final` says yes to is stored and replayed too, and nothing else of its call stays.
            ///
            ///# Errors
            ///
            ///Those of the body, and those of idem itself, such as a duplicate that is in progress or has another payload.
            async fn pay(
                tx: impl ::idem_runtime::Begin<Sqlite>,
                order_id: i64,
            ) -> Result<(), PayError> {
                use ::idem_runtime::__private as __idem;
                const __SPEC: __idem::Spec = __idem::Spec::new("order.pay");
                let __codec = __idem::codec::<
                    Result<(), PayError>,
                    __idem::OkOf<Result<(), PayError>>,
                    __idem::ErrOf<Result<(), PayError>>,
                >();
                let __codec = __idem::record_err::<
                    Result<(), PayError>,
                    _,
                    __idem::ErrOf<Result<(), PayError>>,
                >(__codec, PayError::is_final);
                let __key = __idem::Key::new();
                let __key = __idem::key_part(__key, &order_id);
                let __payload = __idem::Fingerprint::new();
                let mut __claimed = match __idem::open(tx, &__SPEC, __key, __payload, &__codec).await
                {
                    __idem::Opened::Run(__claimed) => __claimed,
                    __idem::Opened::Done(__result) => return __result,
                };
                let __inside = __claimed.inside();
                let __out = {
                    let __tx = __claimed.tx();
                    __inside
                        .run(async move {
                            if false {
                                return __idem::never::<Result<(), PayError>>();
                            }
                            let tx: &mut Tx<'_, Sqlite> = ::core::convert::identity(__tx);
                            '__body: { Ok(()) }
                        })
                        .await
                };
                __claimed.finish(__out, &__codec).await
            }
        "#]],
    );
}

#[test]
fn after_an_error_the_function_keeps_the_signature_that_its_callers_use() {
    check(
        quote!(scope = "order.pay"),
        quote! {
            fn pay(mut tx: &mut Tx<'_, Sqlite>, order_id: i64) -> Result<i64, Error> {
                again(&mut tx, order_id).await
            }
        },
        &expect![[r#"
            ::core::compile_error! {
                "`pay` is not async\nhelp: write `async fn pay`"
            }
            ::core::compile_error! {
                "missing `key`\nhelp: name what is the same on every retry, for example `key = order_id`"
            }
            async fn pay(
                tx: impl ::idem_runtime::Begin<Sqlite>,
                order_id: i64,
            ) -> Result<i64, Error> {
                let _ = tx;
                let mut tx: &mut Tx<'_, Sqlite> = ::idem_runtime::__private::never();
                let _ = &order_id;
                '__body: { again(&mut tx, order_id).await }
            }
        "#]],
    );
}

/// What callers and rustdoc see: everything but the body.
fn check_seen(arguments: TokenStream, item: TokenStream, expected: &Expect) {
    let file = syn::parse2(attribute(arguments, item)).expect("an expansion is a list of items");
    let text = prettyplease::unparse(&file);
    let body = text.find("    use ::idem_runtime::__private").expect("a body");
    expected.assert_eq(&text[..body]);
}

#[test]
fn every_kind_of_argument_and_attribute() {
    check_seen(
        quote!(scope = "shop.any", key = (a, more), payload = y),
        quote! {
            /// Said before.
            #[must_use = "it says which"]
            #[cfg_attr(debug_assertions, inline)]
            /// Said after.
            pub(super) async fn any<'n, K: KeyPart, const N: usize>(
                mut tx: &mut Tx<'_, MySql>,
                (a, mut b): (i64, [u8; N]),
                Point { x, y }: &'n Point,
                mut more: K,
                #[cfg(debug_assertions)] count: &mut i64,
                shown: impl Fn(&K) -> String + Send,
                _: &str,
            ) -> Result<Once<String>, Error>
            where
                K: Send,
            {
                again(&mut tx).await
            }
        },
        &expect![[r#"
            /// Said before.
            #[must_use = "it says which"]
            #[cfg_attr(debug_assertions, inline)]
            /// Said after.
            ///
            ///# Idempotent
            ///
            ///One effect for each `(a, more)` in the scope `shop.any`: the first call runs the body, every later one replays its
            ///result. Pass `&Idem<MySql>`, or `&mut *tx` inside of another idempotent body.
            ///
            ///```text
            ///async fn any<'n, K: KeyPart, const N: usize>(mut tx: &mut Tx<'_, MySql>, (a, mut b): (i64, [u8; N]), Point { x, y }: &'n Point, mut more: K, #[cfg(debug_assertions)] count: &mut i64, shown: impl Fn(&K) -> String + Send, _: &str) -> Result<Once<String>, Error> where K: Send
            ///async fn any<'n, K: KeyPart, const N: usize>(tx: impl Begin<MySql>, (a, mut b): (i64, [u8; N]), Point { x, y }: &'n Point, mut more: K, #[cfg(debug_assertions)] count: &mut i64, shown: impl Fn(&K) -> String + Send, _: &str) -> Result<Once<String>, Error> where K: Send
            ///```
            ///
            ///# Errors
            ///
            ///Those of the body, and those of idem itself, such as a duplicate that is in progress or has another payload.
            pub(super) async fn any<'n, K: KeyPart, const N: usize>(
                tx: impl ::idem_runtime::Begin<MySql>,
                (a, mut b): (i64, [u8; N]),
                Point { x, y }: &'n Point,
                mut more: K,
                #[cfg(debug_assertions)]
                count: &mut i64,
                shown: impl Fn(&K) -> String + Send,
                _: &str,
            ) -> Result<Once<String>, Error>
            where
                K: Send,
            {
        "#]],
    );
}

/// What a `macro_rules!` hands on as `$body:block`.
#[test]
fn a_body_in_an_invisible_group() {
    let (arguments, body) = (quote!(scope = "order.pay", key = id), quote!({ Ok(id) }));
    let item = |body: &dyn ToTokens| quote!(async fn pay(tx: &mut Tx<'_, Sqlite>, id: i64) -> Result<i64, Error> #body);
    let invisible = Group::new(Delimiter::None, body.clone());
    let expansions = [item(&body), item(&invisible)].map(|item| attribute(arguments.clone(), item).to_string());
    assert_eq!(expansions[0], expansions[1]);
    assert!(!expansions[0].contains("compile_error"), "{}", expansions[0]);
}

/// S74: an editor asks for completions with the body as it was typed so far.
#[test]
fn an_incomplete_body_is_passed_on() {
    let item = quote! {
        async fn pay(tx: &mut Tx<'_, Sqlite>, order: &Order) -> Result<i64, Error> { order. }
    };
    let expansion = attribute(quote!(scope = "order.pay", key = order.id), item).to_string();
    assert!(expansion.contains("async fn pay") && expansion.contains("{ order . }"), "{expansion}");
    assert!(!expansion.contains("compile_error"), "{expansion}");
}

#[test]
fn code_in_documentation_is_spaced_as_a_person_would() {
    let signature: Signature = parse_quote! {
        async fn pay<'a, T: Into<Vec<u8>> + 'a>(&self, (a, b): (T, [u8; 4]), f: impl Fn(i64) -> T) -> Result<(), E>
        where
            T: ::core::fmt::Debug
    };
    check_tidy(
        signature,
        &expect![
            "async fn pay<'a, T: Into<Vec<u8>> + 'a>(&self, (a, b): (T, [u8; 4]), f: impl Fn(i64) -> T) -> Result<(), E> where T: ::core::fmt::Debug"
        ],
    );
    let key: Expr =
        parse_quote!((*order.id, self.name.as_str(), &lines[..3], format!("{a}-{}", b + 1), Kind::A as i64));
    check_tidy(
        key,
        &expect![[r#"(*order.id, self.name.as_str(), &lines[..3], format!("{a}-{}", b + 1), Kind::A as i64)"#]],
    );
}

fn check_tidy(code: impl ToTokens, expected: &Expect) {
    expected.assert_eq(&tidy(code.into_token_stream()));
}
