#!/usr/bin/env bash
# Prints the Homebrew formula of a release: homebrew.sh OWNER/NAME vX.Y.Z, beside its archives.
set -euo pipefail
repository=$1 tag=$2

archive() {
    local file="foldback-$tag-$1.tar.gz"
    echo "      url \"https://github.com/$repository/releases/download/$tag/$file\""
    echo "      sha256 \"$(sha256sum "$file" | cut -d' ' -f1)\""
}

cat <<FORMULA
class Foldback < Formula
  desc "Compares context compaction strategies for LLM agents on recorded sessions"
  homepage "https://github.com/$repository"
  version "${tag#v}"
  license any_of: ["MIT", "Apache-2.0"]

  on_macos do
    on_arm do
$(archive aarch64-apple-darwin)
    end
    on_intel do
$(archive x86_64-apple-darwin)
    end
  end

  on_linux do
    on_arm do
$(archive aarch64-unknown-linux-gnu)
    end
    on_intel do
$(archive x86_64-unknown-linux-gnu)
    end
  end

  def install
    bin.install "foldback"
    man1.install Dir["man/*.1"]
    bash_completion.install "completions/foldback.bash" => "foldback"
    zsh_completion.install "completions/foldback.zsh" => "_foldback"
    fish_completion.install "completions/foldback.fish"
  end

  test do
    assert_match version.to_s, shell_output("#{bin}/foldback --version")
  end
end
FORMULA
