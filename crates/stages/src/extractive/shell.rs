//! Files that a shell command reads and writes, as far as its words say so.
//!
//! This is not a shell. It splits a command into words, knows quotes, operators, redirections and here
//! documents, and looks at a dozen programs whose arguments are files. What it does not understand it
//! leaves out.

/// What happened to a file. A later value replaces an earlier one that is smaller.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Touch {
    /// It was read.
    Read,
    /// It was there and was changed.
    Modified,
    /// It was written as a whole.
    Created,
}

impl Touch {
    pub(super) const ALL: [Self; 3] = [Self::Read, Self::Modified, Self::Created];

    /// What the summary puts after the path.
    pub(super) fn mark(self) -> &'static str {
        match self {
            Self::Read => " (read)",
            Self::Modified => " (modified)",
            Self::Created => " (created)",
        }
    }
}

enum Token {
    Word(String),
    /// Ends a simple command.
    Break,
    /// `>` or `>>`: the next word is written to.
    Into,
    /// `<`: the next word is read from.
    From,
}

/// Paths in a command with what happens to them, in order.
pub fn touches(command: &str) -> Vec<(String, Touch)> {
    let mut out = Vec::new();
    let mut words: Vec<String> = Vec::new();
    let mut redirect: Option<Touch> = None;
    for token in tokens(command).into_iter().chain([Token::Break]) {
        match token {
            Token::Word(word) => match redirect.take() {
                Some(touch) => push(&mut out, &word, touch),
                None => words.push(word),
            },
            Token::Into => redirect = Some(Touch::Created),
            Token::From => redirect = Some(Touch::Read),
            Token::Break => {
                simple(&words, &mut out);
                words.clear();
                redirect = None;
            }
        }
    }
    out
}

/// Whether a command does nothing but print what is in files, so that an error in its output is none of
/// its own.
pub fn only_prints(command: &str) -> bool {
    let tokens = tokens(command);
    tokens
        .split(|token| matches!(token, Token::Break))
        .filter_map(|simple| {
            let mut words = simple.iter().filter_map(|token| match token {
                Token::Word(word) => Some(word.as_str()),
                _ => None,
            });
            Some((words.next()?, words.next()))
        })
        .all(|(program, argument)| match program {
            "cat" | "head" | "tail" | "less" | "bat" | "nl" | "sed" | "grep" | "rg" | "ls"
            | "find" | "cd" | "wc" | "sort" | "uniq" | "awk" | "tree" | "echo" | "pwd" | "jq"
            | "cut" | "open" => true,
            "git" => {
                matches!(argument, Some("show" | "diff" | "log" | "grep" | "blame" | "status"))
            }
            _ => false,
        })
}

/// One program with its arguments.
fn simple(words: &[String], out: &mut Vec<(String, Touch)>) {
    let mut words = words
        .iter()
        .map(String::as_str)
        .skip_while(|word| word.contains('=') || matches!(*word, "sudo" | "time" | "env"));
    let Some(program) = words.next() else { return };
    let program = program.rsplit('/').next().unwrap_or(program);
    let words: Vec<&str> = words.collect();
    let flag = |short: &str| words.iter().any(|word| word.starts_with(short));
    let mut files = words.iter().filter(|word| !word.starts_with('-'));
    match program {
        "cat" | "head" | "tail" | "less" | "more" | "bat" | "nl" | "wc" | "open" => {
            for file in files {
                push(out, file, Touch::Read);
            }
        }
        "touch" | "tee" | "create" => {
            for file in files {
                push(out, file, Touch::Created);
            }
        }
        "sed" | "perl" => {
            let touch = if flag("-i") { Touch::Modified } else { Touch::Read };
            // The first word is the script.
            for file in files.skip(1) {
                push(out, file, touch);
            }
        }
        "cp" | "mv" => {
            if let Some(file) = files.next_back() {
                push(out, file, Touch::Created);
            }
        }
        _ => {}
    }
}

fn push(out: &mut Vec<(String, Touch)>, word: &str, touch: Touch) {
    if looks_like_path(word) {
        out.push((word.to_owned(), touch));
    }
}

/// Whether a word is a file rather than a number, a pattern or a piece of script.
pub fn looks_like_path(word: &str) -> bool {
    let named = matches!(word, "Makefile" | "Dockerfile" | "LICENSE" | "README");
    let shaped = word.contains('/') || word.trim_matches('.').contains('.');
    (named || shaped)
        && word.len() < 200
        && !word.starts_with("/dev/")
        && !word.ends_with('/')
        && word.contains(|c: char| c.is_alphabetic())
        && !word.contains(|c: char| c.is_whitespace() || "*$`\\{}()<>|;&!?\"'=,".contains(c))
}

fn tokens(command: &str) -> Vec<Token> {
    let mut out = Vec::new();
    let mut word = String::new();
    let mut in_word = false;
    let mut heredocs: Vec<String> = Vec::new();
    let mut chars = command.char_indices().peekable();
    let flush = |word: &mut String, in_word: &mut bool, out: &mut Vec<Token>| {
        if std::mem::take(in_word) {
            out.push(Token::Word(std::mem::take(word)));
        }
    };
    while let Some((at, c)) = chars.next() {
        match c {
            '\'' | '"' => {
                in_word = true;
                while let Some((_, inner)) = chars.next() {
                    if inner == c {
                        break;
                    }
                    word.push(inner);
                    if inner == '\\' && c == '"' {
                        word.extend(chars.next().map(|(_, escaped)| escaped));
                    }
                }
            }
            '\\' => {
                in_word = true;
                word.push(c);
                word.extend(chars.next().map(|(_, escaped)| escaped));
            }
            '#' if !in_word => while chars.next_if(|(_, c)| *c != '\n').is_some() {},
            '\n' => {
                flush(&mut word, &mut in_word, &mut out);
                out.push(Token::Break);
                let mut rest = &command[at + 1..];
                for delimiter in heredocs.drain(..) {
                    rest = behind_heredoc(rest, &delimiter);
                }
                let resume = command.len() - rest.len();
                while chars.next_if(|(next, _)| *next < resume).is_some() {}
            }
            '<' => {
                flush(&mut word, &mut in_word, &mut out);
                if chars.next_if(|(_, c)| *c == '<').is_some() {
                    while chars.next_if(|(_, c)| matches!(c, '-' | '<')).is_some() {}
                    let mut delimiter = String::new();
                    while chars.next_if(|(_, c)| *c == ' ').is_some() {}
                    while let Some((_, c)) =
                        chars.next_if(|(_, c)| !c.is_whitespace() && !";&|<>)".contains(*c))
                    {
                        delimiter.push(c);
                    }
                    heredocs.push(delimiter.replace(['\'', '"', '\\'], ""));
                } else {
                    out.push(Token::From);
                }
            }
            '>' => {
                // The number of a stream is no word.
                if word.bytes().all(|b| b.is_ascii_digit()) {
                    word.clear();
                    in_word = false;
                }
                flush(&mut word, &mut in_word, &mut out);
                while chars.next_if(|(_, c)| matches!(c, '>' | '|')).is_some() {}
                if chars.next_if(|(_, c)| *c == '&').is_some() {
                    while chars.next_if(|(_, c)| c.is_ascii_digit() || *c == '-').is_some() {}
                } else {
                    out.push(Token::Into);
                }
            }
            ';' | '&' | '|' | '(' | ')' => {
                flush(&mut word, &mut in_word, &mut out);
                out.push(Token::Break);
            }
            c if c.is_whitespace() => flush(&mut word, &mut in_word, &mut out),
            c => {
                in_word = true;
                word.push(c);
            }
        }
    }
    flush(&mut word, &mut in_word, &mut out);
    out
}

/// What follows a here document; everything, where it does not end.
fn behind_heredoc<'a>(text: &'a str, delimiter: &str) -> &'a str {
    let mut rest = text;
    while !rest.is_empty() {
        let (line, behind) = rest.split_once('\n').unwrap_or((rest, ""));
        rest = behind;
        if line.trim() == delimiter {
            return rest;
        }
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn printing_as_a_table() {
        let cases = [
            ("cat a.rs | head -5", true),
            ("cd x && git show HEAD:a.rs", true),
            ("git push", false),
            ("cargo test | tail -5", false),
        ];
        for (command, expected) in cases {
            assert_eq!(only_prints(command), expected, "{command:?}");
        }
    }

    #[test]
    fn commands_as_a_table() {
        use Touch::{Created, Modified, Read};
        let cases: [(&str, &[(&str, Touch)]); 15] = [
            ("cat src/lib.rs", &[("src/lib.rs", Read)]),
            ("cat 'src/lib.rs' | head -n 20", &[("src/lib.rs", Read)]),
            ("cd app && sed -n '1,20p' main.py", &[("main.py", Read)]),
            ("sed -i 's/a.b/c/' main.py", &[("main.py", Modified)]),
            ("echo hi > out/log.txt 2>&1", &[("out/log.txt", Created)]),
            ("make 2> err.log", &[("err.log", Created)]),
            ("cmd >/dev/null", &[]),
            ("sort < in.txt >> all.txt", &[("in.txt", Read), ("all.txt", Created)]),
            (
                "cat > a.py <<'EOF'\nopen b.py\ncat c.py > d.py\nEOF\ncat e.py",
                &[("a.py", Created), ("e.py", Read)],
            ),
            ("cat <<EOF\nnever ends\ncat f.py", &[]),
            ("mv a.rs b.rs; touch c.rs", &[("b.rs", Created), ("c.rs", Created)]),
            ("X=1 sudo tail -50 /var/log/app.log", &[("/var/log/app.log", Read)]),
            ("cat *.rs $HOME/x.rs", &[]),
            ("head -5 README # cat no.rs", &[("README", Read)]),
            ("echo \"a > b.txt\"", &[]),
        ];
        for (command, expected) in cases {
            let expected: Vec<(String, Touch)> =
                expected.iter().map(|(path, touch)| ((*path).to_owned(), *touch)).collect();
            assert_eq!(touches(command), expected, "{command:?}");
        }
    }
}
