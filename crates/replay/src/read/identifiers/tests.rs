use super::word::EXTENSIONS;
use super::*;

/// Class letter, a space, the identifier; several joined by `|`; what the text gives in order.
fn found(text: &str) -> String {
    let letter = |class: Class| match class {
        Class::Path => 'P',
        Class::Url => 'U',
        Class::Symbol => 'S',
        Class::Error => 'E',
        Class::Hash => 'H',
        Class::Number => 'N',
        Class::Quoted => 'Q',
        Class::Flag => 'F',
    };
    identifiers(text)
        .map(|id| format!("{} {}", letter(id.class), id.text))
        .collect::<Vec<_>>()
        .join("|")
}

#[test]
fn cases() {
    let table: &[(&str, &str)] = &[
        // Paths.
        ("open src/main.rs now", "P src/main.rs"),
        ("./src/main.rs", "P src/main.rs"),
        ("src/main.rs:12", "P src/main.rs"),
        ("src/main.rs:12:5: error", "P src/main.rs"),
        ("src/main.rs:12-20", "P src/main.rs"),
        ("src/main.rs#L12", "P src/main.rs"),
        ("(see src/main.rs).", "P src/main.rs"),
        ("src/main.rs,src/lib.rs", "P src/main.rs|P src/lib.rs"),
        ("/home/me/project", "P /home/me/project"),
        ("ls crates/core/", "P crates/core"),
        ("~/notes.txt", "P ~/notes.txt"),
        ("../other/a.py", "P other/a.py"),
        ("../other", "P ../other"),
        ("edit Cargo.toml.", "P Cargo.toml"),
        ("package.json", "P package.json"),
        ("C:\\Users\\me\\new.txt x", "P C:\\Users\\me\\new.txt"),
        ("--- a/src/lib.rs", "P src/lib.rs"),
        ("+++ b/src/lib.rs", "P src/lib.rs"),
        ("diff --git a/src/lib.rs b/src/lib.rs", "F --git|P src/lib.rs|P src/lib.rs"),
        ("x\\n--- a/src/lib.rs", "P src/lib.rs"),
        ("cd a/src/lib.rs", "P a/src/lib.rs"),
        ("src/a.rs:12:fn max_depth", "P src/a.rs|S max_depth"),
        ("src/a.rs:12:5:max_depth", "P src/a.rs|S max_depth"),
        ("src/a.rs-85-max_depth", "P src/a.rs|S max_depth"),
        ("src/a.rs-85-", "P src/a.rs"),
        ("a.rs-85-}", "P a.rs"),
        ("src/cli.pony:class MaxDepth", "P src/cli.pony|S MaxDepth"),
        ("HEAD:src/a.rs", "P src/a.rs"),
        ("localhost:8080/src/x", "N 8080"),
        ("src\\prompt\\x.go is", "P src\\prompt\\x.go"),
        ("src\\\\test\\\\run.go", "P src\\\\test\\\\run.go"),
        ("line\\nsrc/lib.rs", "P src/lib.rs"),
        ("</path> </file>", ""),
        ("  12 | max_depth", "S max_depth"),
        (".github/workflows/ci.yml", "P .github/workflows/ci.yml"),
        ("src/größe.rs", "P src/größe.rs"),
        ("a\\nsrc/lib.rs\\nb", "P src/lib.rs"),
        ("/dev/null", ""),
        ("and/or yes/no", ""),
        ("sed s/old/new/g", ""),
        ("3/4 of 1/2", ""),
        ("end. Start", ""),
        // URLs.
        ("https://example.org/a?b=c,d#e", "U https://example.org/a?b=c,d#e"),
        ("<http://localhost:8080/>", "U http://localhost:8080"),
        ("(https://example.org/a).", "U https://example.org/a"),
        ("git+ssh://host/x.git", "U git+ssh://host/x.git"),
        // Symbols.
        ("call max_depth here", "S max_depth"),
        ("MAX_DEPTH", "S MAX_DEPTH"),
        ("__init__", ""),
        ("maxDepth", "S maxDepth"),
        ("MaxDepth", "S MaxDepth"),
        ("HTTPServer", "S HTTPServer"),
        ("URLs and IDs and APIs", ""),
        ("std::fs::read_dir(x)", "S std::fs::read_dir|S read_dir"),
        ("a.b()", "S a.b"),
        ("os.path", "S os.path"),
        ("self.max_depth = 3", "S self.max_depth|S max_depth"),
        ("max_depth=MaxDepth", "S max_depth|S MaxDepth"),
        ("e.g. this, i.e. that", ""),
        ("GitHub", ""),
        ("word Word WORD", ""),
        ("\\bmax_depth\\b", "S max_depth"),
        ("`max_depth`", "S max_depth"),
        // Errors.
        ("TypeError: x", "E TypeError"),
        ("java.io.IOException", "S java.io.IOException|E IOException"),
        ("error[E0308]: mismatched", "E E0308"),
        ("TS2345", "E TS2345"),
        ("ENOENT, EXPECT", "E ENOENT"),
        ("ERR_MODULE_NOT_FOUND", "E ERR_MODULE_NOT_FOUND"),
        ("SIGSEGV SIGNAL", "E SIGSEGV"),
        ("Error", ""),
        // Hashes and ids.
        ("commit 5d0191d", "H 5d0191d"),
        ("deadbeef", ""),
        ("5d0191", ""),
        ("123e4567-e89b-12d3-a456-426614174000", "H 123e4567-e89b-12d3-a456-426614174000"),
        ("0x7fff5", "H 0x7fff5"),
        ("FOLD-123", "H FOLD-123"),
        ("sha256:0a1b2c3d4e", "H 0a1b2c3d4e"),
        // Numbers.
        ("port 48213.", "N 48213"),
        ("42", ""),
        ("localhost:8080", "N 8080"),
        ("v 1.2.3", "N 1.2.3"),
        ("took 512ms", "N 512"),
        ("1000", ""),
        ("  123\tlet x", ""),
        ("  123→let max_depth", "S max_depth"),
        ("x 123\ty", "N 123"),
        // Quoted strings.
        ("say \"hello big world\"", "Q hello big world"),
        ("'my-kebab-name'", "Q my-kebab-name"),
        ("\"short\"", ""),
        ("\"src/main.rs\"", "P src/main.rs"),
        ("don't do what they don't", ""),
        ("\\\"hello big world\\\"", "Q hello big world"),
        ("\"use max_depth here\"", "Q use max_depth here|S max_depth"),
        ("\"no\nnewline inside\"", ""),
        // Flags.
        ("cargo test --no-run", "F --no-run"),
        ("rm -rf x", "F -rf"),
        ("--color=never", "F --color"),
        ("ls -l --help", ""),
        ("a - b -- c", ""),
        // Nothing breaks.
        ("", ""),
        ("日本語 → « » …", ""),
        ("\\", ""),
        ("\"", ""),
        ("://", ""),
    ];
    assert!(table.len() >= 60);
    let wrong: Vec<String> = table
        .iter()
        .filter(|(text, expected)| found(text) != *expected)
        .map(|(text, expected)| format!("{text:?} gives {} not {expected}", found(text)))
        .collect();
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn every_identifier_is_found_again_in_itself() {
    let text =
        "src/main.rs:12 https://a.b/c max_depth maxDepth a::b_c E0308 5d0191d 48213 --no-run";
    for id in identifiers(text) {
        let again = identifiers(id.text).next();
        assert_eq!(again, Some(id), "{}", id.text);
    }
}

#[test]
fn paths_match_on_component_boundaries() {
    let table = [
        ("src/main.rs", "src/main.rs", true),
        ("src/main.rs", "/repo/src/main.rs", true),
        ("/repo/src/main.rs", "src/main.rs", true),
        ("main.rs", "/repo/src/main.rs", true),
        ("/repo/src/main.rs", "main.rs", false),
        ("src/main.rs", "othersrc/main.rs", false),
        ("src/main.rs", "src/Main.rs", false),
    ];
    for (reference, other, expected) in table {
        assert_eq!(same_path(reference, other), expected, "{reference} {other}");
    }
    assert_eq!(suffixes("/a/b.rs").collect::<Vec<_>>(), ["/a/b.rs", "a/b.rs", "b.rs"]);
    let deep = "a/".repeat(20_000) + "b.rs";
    assert_eq!(suffixes(&deep).count(), 1 + super::MAX_COMPONENTS);
    assert_eq!(suffixes(&deep).nth(1), Some(&deep[deep.len() - 2 * 63 - 4..]));
}

#[test]
fn the_list_is_sorted() {
    assert!(EXTENSIONS.is_sorted());
}
