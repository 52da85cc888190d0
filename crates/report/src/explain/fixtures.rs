//! A walk made by hand, for tests.

use foldback_core::Limits;
use foldback_core::log::Role;
use foldback_core::moment::Moment;
use foldback_core::strategy::Kind;
use foldback_replay::identifiers::Class;
use foldback_replay::walk::{
    Call, Firing, Forgotten, Line, Need, NeedKind, NeedSource, Track, Walk,
};

/// Twelve calls that grow by 1,000 tokens each; a firing before call 8 takes 5,000 of them back.
pub(crate) fn walk() -> Walk {
    let plain = |call: u64| 2_000 + call * 1_000;
    let line = |role, name: &str| Line {
        role,
        name: name.to_owned(),
        tokens: 500,
        excerpt: String::new(),
        cut: false,
        call: None,
    };
    let need = |kind, text: &str, file: Option<&str>, source| Need {
        call: 10,
        kind,
        text: text.to_owned(),
        file: file.map(str::to_owned),
        distance: 9,
        seen: 2,
        source,
    };
    let source = NeedSource { message: 2, tokens: 4_120 };
    let firing = Firing {
        call: 8,
        moment: Moment::TurnStart,
        stage: "clear".to_owned(),
        fold: false,
        reason: "6000 > 5000".to_owned(),
        degraded: None,
        own_before: 9_500,
        own_after: 4_500,
    };
    let track = Track {
        preset: "clearing".to_owned(),
        kind: Kind::Strategy,
        limits: Limits::new(20_000, 1_000),
        estimator: "chars".to_owned(),
        tokens: (0..12).map(|call| plain(call) - if call < 8 { 0 } else { 5_000 }).collect(),
        overflows: Vec::new(),
        firings: vec![firing],
        steps: Vec::new(),
        written: Vec::new(),
        shown: Vec::new(),
        forgotten: [0, 1, 2].map(|need| Forgotten { need, left_view_at: 8 }).to_vec(),
        failures: Vec::new(),
        idle: Vec::new(),
    };
    let idle = Track {
        preset: "idle".to_owned(),
        tokens: (0..12).map(plain).collect(),
        overflows: vec![11],
        firings: Vec::new(),
        forgotten: Vec::new(),
        failures: vec!["fold failed 2 times: no summarizer".to_owned()],
        idle: vec!["policy: 13000 <= 19000".to_owned()],
        ..track.clone()
    };
    Walk {
        path: "a.jsonl".to_owned(),
        session: "s".to_owned(),
        format: "foldback".to_owned(),
        model: None,
        measure: "o200k".to_owned(),
        messages: vec![
            line(Role::User, ""),
            line(Role::Assistant, "read"),
            line(Role::Tool, "read"),
        ],
        calls: (0..12)
            .map(|call| Call { answer: 1 + 2 * call as usize, turn: 1, plain_tokens: plain(call) })
            .collect(),
        needs: vec![
            need(NeedKind::Reference(Class::Path), "docs/flow.md", None, None),
            need(NeedKind::Edit, "fn token() {", Some("src/auth/token.rs"), Some(source)),
            need(NeedKind::Reference(Class::Symbol), "refresh", None, Some(source)),
            need(NeedKind::Reference(Class::Flag), "--kept", None, None),
        ],
        tracks: vec![track, idle],
    }
}
