#!/usr/bin/env bash
# Builds what a release has for one target: build.sh TARGET NAME OUT makes OUT/NAME.tar.gz of the command, the wheel, and npm's
# packages. Packages for Linux are built against glibc 2.28 or musl, whatever the system here has: with the tools of tools.txt.
# `CARGO_PROFILE` chooses another profile than `dist`.
set -euo pipefail
target=$1 name=$2 out=$3
export CARGO_PROFILE=${CARGO_PROFILE:-dist}
# A program names the sources that it was built of, but not the machine.
export RUSTFLAGS="--remap-path-prefix=$PWD=. --remap-path-prefix=${CARGO_HOME:-$HOME/.cargo}=.cargo"

wheel=
case $target in
*-linux-gnu)
    export FOLDBACK_TARGET=$target.2.28
    wheel="--zig --target $target --compatibility manylinux_2_28" ;;
*-linux-musl)
    export FOLDBACK_TARGET=$target
    wheel="--zig --target $target --compatibility musllinux_1_2" ;;
esac
if [ -n "$wheel" ]; then
    build="zigbuild --target $FOLDBACK_TARGET" built=target/$target
else
    build=build built=target
fi
folder=$CARGO_PROFILE
[ "$folder" != dev ] || folder=debug

# Both hold several words.
# shellcheck disable=SC2086
cargo $build -p foldback-cli --profile "$CARGO_PROFILE" --all-features --locked
.github/pack.sh "$name" "$built/$folder" "$out"
# shellcheck disable=SC2086
maturin build $wheel --profile "$CARGO_PROFILE" --locked --manifest-path bindings/python/Cargo.toml --out "$out"
node bindings/node/build.js
node bindings/node/pack.js "$out"
