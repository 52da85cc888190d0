#!/usr/bin/env bash
# A trial with the print mode of Claude Code. TASKS has a line a task, with tabs: name, repository, prompt, and a command that succeeds
# once the task is solved.
#
#     examples/trial/claude_code.sh TASKS [ARMS]
set -eu
tasks=$1 arms=${2:-indexed,none}
foldback serve --trial "$arms" --trial-file trial.jsonl 2> proxy.log &
trap "kill $!" EXIT
until curl -sf http://127.0.0.1:8787/healthz > proxy.ok; do
  sleep 1
  kill -0 $! || { cat proxy.log >&2; exit 1; }
done
test -s outcomes.csv || echo unit,solved > outcomes.csv
while IFS=$'\t' read -r name repository prompt check; do
  work=$(mktemp -d) && git clone -q "$repository" "$work"
  # The task is the unit: its subagents, and what Claude Code asks a smaller model, share its arm.
  (cd "$work" && ANTHROPIC_BASE_URL=http://127.0.0.1:8787 ANTHROPIC_CUSTOM_HEADERS="x-foldback-unit: $name" \
    timeout 3600 claude --print "$prompt" --permission-mode acceptEdits < /dev/null) > "$name.log" 2>&1 || true
  (cd "$work" && bash -c "$check") > "$name.check" 2>&1 && solved=1 || solved=0
  echo "$name,$solved" | tee -a outcomes.csv
done < "$tasks"
foldback trial trial.jsonl --outcomes outcomes.csv --html trial.html
