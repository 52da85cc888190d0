#!/usr/bin/env bash
# Packs the command as a release has it: pack.sh NAME FOLDER OUT makes OUT/NAME.tar.gz of the program in FOLDER.
set -euo pipefail
name=$1 built=$2 out=$3
program=$built/foldback
[ -e "$program" ] || program=$built/foldback.exe

folder=$(mktemp -d)
trap 'rm -r "$folder"' EXIT
mkdir -p "$out" "$folder/$name"
cp "$program" LICENSE-MIT LICENSE-APACHE README.md CHANGELOG.md "$folder/$name/"
tar -czf "$out/$name.tar.gz" -C "$folder" "$name"
