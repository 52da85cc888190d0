use super::*;
use crate::explain::tests::walk;
use crate::html::Walked;
use foldback_core::log::EntryKind;
use foldback_replay::walk::WrittenMessage;

/// What stands between the tags of the script and data blocks of a page.
fn blocks<'a>(page: &'a str, open: &str) -> Vec<&'a str> {
    page.split(open)
        .skip(1)
        .map(|rest| rest.split("</script>").next().unwrap_or_default())
        .collect()
}

/// The only script of a page, which its policy must allow and which must do nothing that a page is not for.
pub(crate) fn allowed_script(page: &str) -> &str {
    let [script] = blocks(page, "<script>")[..] else {
        panic!("one script");
    };
    let policy = script::policy(script);
    assert!(page.contains(&format!("content=\"{policy}\"")), "{policy}");
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    // What it may not do: load, send, or make code or markup of text.
    for call in [
        "fetch(",
        "XMLHttp",
        "WebSocket",
        "sendBeacon",
        "import(",
        "eval(",
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "http://",
        "https://",
        "new Function",
    ] {
        let svg = "http://www.w3.org/2000/svg";
        assert!(!script.replace(svg, "").contains(call), "{call}");
    }
    script
}

fn details(walks: Vec<Walk>, others: &[&str]) -> Details {
    let walked = |(session, walk)| Walked { session, walk };
    Details {
        walks: walks.into_iter().enumerate().map(walked).collect(),
        not_walked: others.iter().map(|path| (*path).to_owned()).collect(),
        room: Some(ROOM),
        ..Details::default()
    }
}

#[test]
fn the_policy_allows_the_script_of_the_page_and_no_other() {
    let page = page(&walk(), "../report.html");
    allowed_script(&page);
    assert_eq!(page.matches("<script").count(), 2, "script and data");
    assert!(page.contains("<a href=\"../report.html#sessions\">"));
}

#[test]
fn nothing_recorded_becomes_markup() {
    let hostile = "</script><script>alert(1)</script><img src=x onerror=alert(2)> \" ' & <!--";
    let mut walk = walk();
    walk.path = hostile.to_owned();
    for line in &mut walk.messages {
        line.excerpt = hostile.to_owned();
        line.name = hostile.to_owned();
    }
    for need in &mut walk.needs {
        need.text = hostile.to_owned();
        need.file = Some(hostile.to_owned());
    }
    for track in &mut walk.tracks {
        track.preset = hostile.to_owned();
        for firing in &mut track.firings {
            firing.reason = hostile.to_owned();
            firing.stage = hostile.to_owned();
        }
    }
    let inside = section(&details(vec![walk.clone()], &[hostile]), Some(hostile)).section;
    for (page, scripts) in [(page(&walk, hostile), 2), (inside, 1)] {
        assert_eq!(page.matches("<script").count(), scripts);
        assert_eq!(page.matches("<img").count(), 0);
        assert_eq!(page.matches("<!--").count(), 0);
        assert!(!page.contains("\"x onerror"), "an attribute was closed");
        let [data] = blocks(&page, "id=\"walk-0\">")[..] else {
            panic!("one block of data");
        };
        let data: serde_json::Value = serde_json::from_str(data).unwrap();
        assert_eq!(data["path"], hostile);
        assert_eq!(data["texts"][0], hostile);
    }
}

#[test]
fn only_what_some_preset_missed_goes_in_and_finds_its_place() {
    let data: serde_json::Value = serde_json::from_str(&data::json(&walk())).unwrap();
    let names: Vec<&str> =
        data["needs"].as_array().unwrap().iter().map(|need| need[2].as_str().unwrap()).collect();
    assert_eq!(names, ["docs/flow.md", "fn token() {", "refresh"], "`--kept` was kept");
    assert_eq!(data["tracks"][0]["forgotten"], serde_json::json!([0, 8, 1, 8, 2, 8]));
    assert_eq!(
        data["needs"][1],
        serde_json::json!([10, "edit", "fn token() {", "src/auth/token.rs", 9, 2, 2, 4120])
    );
    assert_eq!(data["roles"], "uat");
    assert_eq!(data["tracks"][1]["idle"][0], "policy: 13000 <= 19000");
}

#[test]
fn a_preset_leads_to_the_call_that_missed_most_of_what_it_forgot() {
    let mut most = walk();
    let first = most.tracks[0].forgotten[0].need;
    most.needs[first].call = 9;
    let mut less = most.clone();
    less.tracks[0].forgotten.truncate(1);
    let preset = &most.tracks[0].preset;
    let calls: Vec<usize> =
        most.tracks[0].forgotten.iter().map(|lost| most.needs[lost.need].call).collect();
    assert_eq!(calls, [9, 10, 10], "two at one call");
    let places = section(&details(vec![less, most.clone()], &[]), None).of_presets;
    let expected = format!("#session=1&preset={}&call=10", super::super::encoded(preset));
    assert_eq!(places.get(preset), Some(&expected));
    // Where nothing was forgotten, to what it did; where it did nothing, nowhere.
    let mut nothing = most;
    nothing.tracks[0].forgotten.clear();
    let at = nothing.tracks[0].firings[0].call;
    let of = |walk: &Walk| section(&details(vec![walk.clone()], &[]), None).of_presets;
    let place = of(&nothing).remove(&nothing.tracks[0].preset);
    assert!(
        place.as_ref().is_some_and(|place| place.ends_with(&format!("&call={at}"))),
        "{place:?}"
    );
    nothing.tracks[0].firings.clear();
    assert_eq!(of(&nothing).get(&nothing.tracks[0].preset), None);
}

#[test]
fn many_summaries_are_told_by_their_beginning() {
    let lengths = |count: usize| -> Vec<usize> {
        let mut walk = walk();
        let written = WrittenMessage {
            kind: EntryKind::Summary,
            call: 3,
            tokens: 9,
            text: "ü".repeat(4_000),
            cut: false,
        };
        walk.tracks[0].written = vec![written; count];
        let data: serde_json::Value = serde_json::from_str(&data::json(&walk)).unwrap();
        let written = data["tracks"][0]["written"].as_array().unwrap();
        let texts = written.iter().map(|row| row[3].as_str().unwrap());
        texts.map(|text| text.chars().count()).collect()
    };
    assert_eq!(lengths(1), [4_000]);
    assert_eq!(lengths(100), [601; 100], "600 and the sign that it is cut");
    assert_eq!(lengths(2_000)[0], 81);
}

#[test]
fn sessions_that_do_not_fit_are_named() {
    let mut large = walk();
    large.path = "large.jsonl".to_owned();
    large.messages[0].excerpt = "x".repeat(ROOM);
    let mut three = details(vec![walk(), large.clone(), walk()], &["other.jsonl"]);
    let Reader { section: out, walked, .. } = section(&three, None);
    assert_eq!(walked, [0, 2]);
    assert!(out.contains("2 of 4 sessions"), "{}", &out[out.len() - 3_000..]);
    for path in ["large.jsonl", "other.jsonl"] {
        assert!(out.contains(&format!("<li class=\"path\">{path}</li>")), "{path}");
    }
    assert_eq!(blocks(&out, "type=\"application/json\"").len(), 2);
    three.pages = [(1, "report-sessions/2.html".to_owned())].into();
    assert!(!section(&three, None).section.contains("2 of 4"), "they have pages of their own");
    three.room = None;
    assert_eq!(section(&three, None).walked, [0, 1, 2], "whoever asks for them gets them");
    let none = section(&details(vec![large], &[]), None);
    assert!(none.section.is_empty(), "no walk fits, so there is no reader");
}
