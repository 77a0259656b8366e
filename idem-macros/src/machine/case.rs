//! Names in another case.

use proc_macro2::{Ident, Span};

/// `rename_all`: the rules of serde, applied to a variant's name.
#[derive(Clone, Copy)]
pub(super) enum RenameRule {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl RenameRule {
    /// Every rule and how it is written.
    pub(super) const ALL: &'static [(&'static str, Self)] = &[
        ("lowercase", Self::Lower),
        ("UPPERCASE", Self::Upper),
        ("PascalCase", Self::Pascal),
        ("camelCase", Self::Camel),
        ("snake_case", Self::Snake),
        ("SCREAMING_SNAKE_CASE", Self::ScreamingSnake),
        ("kebab-case", Self::Kebab),
        ("SCREAMING-KEBAB-CASE", Self::ScreamingKebab),
    ];

    pub(super) fn parse(name: &str) -> Option<Self> {
        Self::ALL.iter().find(|(written, _)| *written == name).map(|(_, rule)| *rule)
    }

    pub(super) fn apply(self, variant: &str) -> String {
        match self {
            Self::Lower => variant.to_ascii_lowercase(),
            Self::Upper => variant.to_ascii_uppercase(),
            Self::Pascal => variant.to_owned(),
            Self::Camel => first(variant, char::to_lowercase),
            Self::Snake => snake(variant),
            Self::ScreamingSnake => snake(variant).to_ascii_uppercase(),
            Self::Kebab => snake(variant).replace('_', "-"),
            Self::ScreamingKebab => snake(variant).to_ascii_uppercase().replace('_', "-"),
        }
    }
}

/// `OrderStatus` as `order_status`.
pub(super) fn snake(name: &str) -> String {
    let mut snake = String::new();
    for (at, letter) in name.char_indices() {
        if at > 0 && letter.is_uppercase() {
            snake.push('_');
        }
        snake.extend(letter.to_lowercase());
    }
    snake
}

/// `pay_again` as `PayAgain`. Leading underscores stay, so that the name stays one.
pub(super) fn pascal(name: &str) -> String {
    let words = name.trim_start_matches('_');
    let underscores = &name[..name.len() - words.len()];
    let words: String = words.split('_').map(|word| first(word, char::to_uppercase)).collect();
    format!("{underscores}{words}")
}

fn first<I: Iterator<Item = char>>(word: &str, change: impl Fn(char) -> I) -> String {
    let mut letters = word.chars();
    letters.next().map(change).into_iter().flatten().chain(letters).collect()
}

/// The name as an identifier, raw where it is a keyword, with `_` where it cannot be raw either.
pub(super) fn ident(name: &str, span: Span) -> Ident {
    match name {
        "self" | "Self" | "super" | "crate" => Ident::new(&format!("{name}_"), span),
        _ if syn::parse_str::<syn::Ident>(name).is_ok() => Ident::new(name, span),
        _ => Ident::new_raw(name, span),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_writes_a_name_as_serde_does() {
        let written: Vec<_> = RenameRule::ALL.iter().map(|(_, rule)| rule.apply("WaitBuyerPay")).collect();
        let expected = [
            "waitbuyerpay",
            "WAITBUYERPAY",
            "WaitBuyerPay",
            "waitBuyerPay",
            "wait_buyer_pay",
            "WAIT_BUYER_PAY",
            "wait-buyer-pay",
            "WAIT-BUYER-PAY",
        ];
        assert_eq!(written, expected);
    }

    #[test]
    fn a_name_stays_a_name() {
        let names = ["pay_again", "payAgain", "__", "_1", "支付"].map(pascal);
        assert_eq!(names, ["PayAgain", "PayAgain", "__", "_1", "支付"]);
        let idents = ["type", "super", "orders"].map(|name| ident(name, Span::call_site()).to_string());
        assert_eq!(idents, ["r#type", "super_", "orders"]);
    }
}
