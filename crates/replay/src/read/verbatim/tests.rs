use super::*;
use foldback_test_support::table;
use proptest::prelude::*;

/// One step of a session: who speaks, and what. A call names several strings.
type Spoken = (Role, Vec<String>);

fn log(spoken: &[Spoken]) -> Vec<Arc<Message>> {
    let messages = spoken.iter().enumerate().map(|(number, (role, texts))| {
        let id = format!("m{number}");
        let text = texts.concat();
        match role {
            Role::Tool => Message::tool(id, format!("c{number}"), "read", text),
            Role::Assistant => {
                let arguments = serde_json::json!({ "of": texts }).to_string();
                Message::assistant(id, vec![Part::call(format!("c{number}"), "edit", arguments)])
            }
            _ => Message::user(id, text),
        }
    });
    messages.map(Arc::new).collect()
}

/// By call, the pieces that it reuses with their distances and the parts that hold them.
fn found(log: &[Arc<Message>]) -> Vec<(usize, String, usize, Vec<usize>)> {
    let verbatim = Verbatim::read(log);
    let calls = log.iter().filter(|message| message.is_answer()).count();
    let mut out = Vec::new();
    for call in 0..calls {
        for PieceNeed { piece, distance, .. } in verbatim.needs(call) {
            let holds = |part: &usize| verbatim.part(*part).contains(piece);
            let holding = (0..verbatim.parts.len()).filter(holds).collect();
            out.push((call, verbatim.text(*piece).to_owned(), *distance, holding));
        }
    }
    out
}

/// The same, straight from the definition.
fn expected(spoken: &[Spoken]) -> Vec<(usize, String, usize, Vec<usize>)> {
    let says = |(role, texts): &Spoken| match role {
        Role::Assistant => texts.iter().map(|text| format!("{text}\n")).collect(),
        _ => texts.concat(),
    };
    let boundary = |text: &str, at: usize| {
        let before = text[..at].chars().next_back().is_some_and(is_word);
        let behind = text[at..].chars().next().is_some_and(is_word);
        (before, behind)
    };
    let holds = |text: &str, piece: &str| {
        text.char_indices().map(|(at, _)| at).any(|at| {
            text[at..].starts_with(piece)
                && boundary(text, at) == (false, true)
                && boundary(text, at + piece.len()) == (true, false)
        })
    };
    let calls_before = |number: usize| {
        spoken[..number].iter().filter(|(role, _)| *role == Role::Assistant).count()
    };
    let mut out = Vec::new();
    for (answer, (role, strings)) in spoken.iter().enumerate() {
        if *role != Role::Assistant {
            continue;
        }
        let call = calls_before(answer);
        let of = |wanted: fn(Role) -> bool| {
            let before = spoken[..answer].iter().enumerate();
            before
                .filter(move |(_, (role, _))| wanted(*role))
                .map(move |(at, said)| (at, says(said)))
        };
        let tools: Vec<(usize, String)> = of(|role| role == Role::Tool).collect();
        let others: Vec<(usize, String)> = of(|role| role != Role::Tool).collect();
        let mut pieces: Vec<String> = Vec::new();
        for text in strings {
            let places: Vec<usize> =
                text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
            let mut standing: Vec<Range<usize>> = Vec::new();
            for start in places.iter().filter(|at| boundary(text, **at) == (false, true)) {
                for end in places.iter().filter(|at| *at > start) {
                    let piece = &text[*start..*end];
                    if boundary(text, *end) == (true, false)
                        && tools.iter().any(|(_, said)| holds(said, piece))
                    {
                        standing.push(*start..*end);
                    }
                }
            }
            for one in &standing {
                let around = |other: &Range<usize>| {
                    other != one && other.start <= one.start && other.end >= one.end
                };
                if !standing.iter().any(around) {
                    pieces.push(text[one.clone()].to_owned());
                }
            }
        }
        pieces.retain(|piece| {
            piece.chars().count() >= LEAST
                && tells(piece)
                && !others.iter().any(|(_, said)| holds(said, piece))
        });
        pieces.sort();
        pieces.dedup();
        for piece in pieces {
            let holding = tools.iter().filter(|(_, said)| holds(said, &piece));
            let holding: Vec<usize> = holding.map(|(at, _)| *at).collect();
            let last = holding.last().copied().unwrap();
            out.push((call, piece, call + 1 - calls_before(last), holding));
        }
    }
    out
}

#[test]
fn pieces_are_what_a_call_repeats_of_results_alone() {
    type Row = (String, Vec<String>, Vec<String>, Vec<String>);
    let rows: Vec<Row> = table::rows(include_str!("tests.toml"), "pieces");
    for (name, spoken, arguments, pieces) in rows {
        let mut steps: Vec<Spoken> = Vec::new();
        for line in spoken {
            let (who, said) = line.split_once(": ").unwrap();
            let role = match who {
                "tool" => Role::Tool,
                "agent" => Role::Assistant,
                _ => Role::User,
            };
            steps.push((role, vec![said.to_owned()]));
        }
        let before = steps.iter().filter(|(role, _)| *role == Role::Assistant).count();
        steps.push((Role::Assistant, arguments));
        let mut found = found(&log(&steps));
        found.retain(|(call, ..)| *call == before);
        let found: Vec<String> = found.into_iter().map(|(_, piece, ..)| piece).collect();
        assert_eq!(found, pieces, "{name}");
    }
}

#[test]
fn telling_pieces_hold_something_like_a_name_a_number_or_a_path() {
    let telling =
        ["a 1", "_", "aB", "a/b", r"a\b", "a.b", "a@b", "a#b", "a-b", "a:b", "a::b", "ä.ö"];
    let plain = ["", "one two", "AB", "Ab", "a. b", "a - b", "a: b", "a:: b", "a:::b", "-a", "ä ö"];
    assert_eq!(telling.map(tells), [true; 12]);
    assert_eq!(plain.map(tells), [false; 11]);
}

#[test]
fn a_distance_is_that_of_the_last_result_that_holds_the_piece() {
    let piece = "crates/core/src/log/part.rs";
    let said = |role, text: &str| (role, vec![text.to_owned()]);
    let spoken = [
        said(Role::Assistant, "x"),
        said(Role::Tool, &format!("see {piece}:12")),
        said(Role::Assistant, "y"),
        said(Role::Tool, &format!("and {piece}")),
        said(Role::Assistant, "z"),
        said(Role::Tool, "nothing of it"),
        said(Role::Assistant, piece),
        // By now the agent has said it.
        said(Role::Assistant, piece),
    ];
    assert_eq!(found(&log(&spoken)), [(3, piece.to_owned(), 2, vec![1, 3])]);
}

#[test]
fn arguments_are_decoded_and_those_that_are_no_json_are_one_string() {
    let line = "let path = \"a\\b\";\n\tprint(path_of)";
    let call = |arguments: &str| {
        let messages = [
            Message::tool("t", "c", "read", line),
            Message::assistant("a", vec![Part::call("d", "edit", arguments)]),
        ];
        found(&messages.map(Arc::new)).len()
    };
    assert_eq!(call(&serde_json::json!({ "nested": [{ "old": line }] }).to_string()), 1);
    assert_eq!(call(&serde_json::json!({ line: true }).to_string()), 0);
    assert_eq!(call(line), 1);
}

/// Texts of few words, so that much of them is the same.
fn text(words: usize) -> impl Strategy<Value = String> {
    let token = prop::sample::select(vec!["aa", "b_1", "ää", "cc9", "aa_b", "dddddddddd"]);
    let between = prop::sample::select(vec![" ", "/", "\n", "::", " - "]);
    prop::collection::vec((token, between), 1..words)
        .prop_map(|words| words.iter().flat_map(|(word, between)| [*word, *between]).collect())
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]
    #[test]
    fn the_pieces_are_those_of_the_definition(
        spoken in prop::collection::vec(
            (
                prop::sample::select(vec![Role::Tool, Role::Tool, Role::Tool, Role::User, Role::Assistant, Role::Assistant]),
                prop::collection::vec(text(14), 1..3),
            ),
            1..9,
        )
    ) {
        prop_assert_eq!(found(&log(&spoken)), expected(&spoken));
    }
}
