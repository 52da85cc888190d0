//! Names of models as recorders write them down: with a provider, a region, a version or a date around them.

/// A recorded name in plain spelling: in lower case, with dashes for dots, from the last slash on.
pub(super) fn normalised(name: &str) -> String {
    characters(name).collect()
}

/// Whether this is the plain spelling of a name.
pub(super) fn is_spelled(name: &str, normalised: &str) -> bool {
    characters(name).eq(normalised.chars())
}

fn characters(name: &str) -> impl Iterator<Item = char> {
    let name = name.rsplit('/').next().unwrap_or(name);
    name.chars().flat_map(char::to_lowercase).map(|c| if c == '.' { '-' } else { c })
}

/// The variant of a model that a name asks for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Variant {
    /// The larger window.
    pub(super) long: bool,
    /// Fast mode.
    pub(super) fast: bool,
}

/// Before a name: a cloud's region, then whose model it is.
const REGIONS: [&str; 8] = ["us-gov", "us", "eu", "apac", "global", "jp", "au", "ca"];
const VENDORS: [&str; 12] = [
    "anthropic",
    "openai",
    "google",
    "deepseek",
    "moonshotai",
    "moonshot",
    "minimax",
    "mistralai",
    "mistral",
    "x-ai",
    "xai",
    "zai",
];

/// Behind a name: how the provider routes the request, and how long the model is to think.
const ENDINGS: [&str; 15] = [
    ":thinking",
    ":nitro",
    ":floor",
    ":beta",
    ":exacto",
    ":online",
    "-thinking",
    "-latest",
    "-preview",
    "-maas",
    "-minimal",
    "-low",
    "-medium",
    "-xhigh",
    "-high",
];

/// The first of the names that a recorded one may stand for that is known, and what else it says. Less and less is left
/// of it: a name that is known as it is stands for itself.
pub(super) fn resolve<T>(name: &str, known: impl Fn(&str) -> Option<T>) -> Option<(T, Variant)> {
    let whole = normalised(name);
    let (mut name, mut asked) = (whole.as_str(), Variant::default());
    loop {
        if let Some(found) = known(name) {
            return Some((found, asked));
        }
        let long = name.strip_suffix("[1m]").or_else(|| name.strip_suffix("-1m"));
        let fast = name.strip_suffix("-fast");
        asked.long |= long.is_some();
        asked.fast |= long.is_none() && fast.is_some();
        name = long
            .or(fast)
            .or_else(|| ENDINGS.iter().find_map(|ending| name.strip_suffix(ending)))
            .or_else(|| without_version(name))
            .or_else(|| without_date(name))
            .or_else(|| without_provider(name))?;
    }
}

/// Without `@20251101`, `-v1`, `-v1:0`, `:200k`.
fn without_version(name: &str) -> Option<&str> {
    if let Some((name, _)) = name.rsplit_once('@') {
        return Some(name);
    }
    let digits = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if let Some((name, after)) = name.rsplit_once(':')
        && digits(after.strip_suffix('k').unwrap_or(after))
    {
        return Some(name);
    }
    let (name, version) = name.rsplit_once("-v")?;
    digits(version).then_some(name)
}

/// Without `-20251101`, `-2025-11-01`, `-05-20`.
fn without_date(name: &str) -> Option<&str> {
    let ends = |shape: &str| {
        let (name, end) = name.split_at_checked(name.len().checked_sub(shape.len())?)?;
        let fits = |(given, wanted): (u8, u8)| match wanted {
            b'0' => given.is_ascii_digit(),
            wanted => given == wanted,
        };
        end.bytes().zip(shape.bytes()).all(fits).then_some(name)
    };
    ["-0000-00-00", "-00000000", "-00-00"].iter().find_map(|shape| ends(shape))
}

fn without_provider(name: &str) -> Option<&str> {
    let words = REGIONS.iter().chain(&VENDORS);
    let mut after = words.filter_map(|word| name.strip_prefix(word)?.strip_prefix(['-', ':']));
    after.next().filter(|rest| !rest.is_empty())
}
