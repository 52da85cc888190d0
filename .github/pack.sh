#!/usr/bin/env bash
# Packs the command as a release has it: pack.sh NAME FOLDER OUT makes OUT/NAME.tar.gz of the program in FOLDER, with its manual
# pages and completions, which it writes itself.
set -euo pipefail
name=$1 built=$2 out=$3
program=$built/foldback
[ -e "$program" ] || program=$built/foldback.exe

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
mkdir -p "$out" "$folder/$name/completions"
cp "$program" LICENSE-MIT LICENSE-APACHE CHANGELOG.md "$folder/$name/"
# Outside of the repository a link leads to it, where its address is known, and else nowhere.
address=${GITHUB_REPOSITORY:+https://github.com/$GITHUB_REPOSITORY/blob/$GITHUB_REF_NAME/}
if [ -n "$address" ]; then
    sed -E "s|\]\(([^)#:]+(#[^)]*)?)\)|](${address}\1)|g" README.md > "$folder/$name/README.md"
else
    sed -E -e '/^!\[[^]]*\]\([^):]*\)$/d' -e 's|\[([^]]*)\]\([^):]*\)|\1|g' README.md > "$folder/$name/README.md"
fi
"$program" man "$folder/$name/man"
for shell in bash zsh fish powershell; do
    "$program" completions "$shell" > "$folder/$name/completions/foldback.$shell"
done
tar -czf "$out/$name.tar.gz" -C "$folder" "$name"
