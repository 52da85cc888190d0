#!/usr/bin/env bash
# A trial with mini-swe-agent 2. TASKS has a line a task, with tabs: name, repository, prompt, and a command that succeeds once the task is
# solved.
#
#     MODEL=openai/gpt-5.4 examples/trial/mini_swe_agent.sh TASKS [ARMS]
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
  (cd "$work" && timeout 3600 mini --yolo --exit-immediately --task "$prompt" --model "$MODEL" --config mini.yaml \
    --config model.model_kwargs.api_base=http://127.0.0.1:8787/v1 \
    --config "model.model_kwargs.extra_headers.x-foldback-unit=$name" < /dev/null) > "$name.log" 2>&1 || true
  (cd "$work" && bash -c "$check") > "$name.check" 2>&1 && solved=1 || solved=0
  echo "$name,$solved" | tee -a outcomes.csv
done < "$tasks"
foldback trial trial.jsonl --outcomes outcomes.csv --html trial.html
