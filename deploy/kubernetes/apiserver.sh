#!/usr/bin/env bash
# Applies all that is here to a real API server: admission with the restricted Pod
# Security Standard enforced, strict field validation, and the Prometheus
# operator's own resources. No node is there, so nothing runs.
#
# It needs Go, kubectl, openssl and curl, and builds etcd, kube-apiserver, Helm and
# what makes the operator's definitions from their modules: minutes the first time.
# KEEP names a folder for them.
set -euo pipefail
cd "$(dirname "$0")"

kubernetes=v1.34.4
etcd=v3.6.16
helm=v3.22.0
generator=v0.23.0
operator=v0.95.2

scratch=$(mktemp -d)
keep=${KEEP:-${TMPDIR:-/tmp}/turnwatch-apiserver}
mkdir -p "$keep"
started=()
trap finish EXIT
finish() {
	local code=$?
	[ $code = 0 ] || tail -n 20 "$scratch"/*.log >&2 2>/dev/null || true
	[ ${#started[@]} = 0 ] || kill "${started[@]}" 2>/dev/null || true
	wait 2>/dev/null || true
	rm -rf "$scratch"
	exit $code
}

# built makes the command $1 of package $2 by the function $3, once.
built() { [ -x "$keep/$1" ] || "$3" "$keep/$1" "$2"; }

# fetched builds a command within a module of its own, as those want it that
# replace what they need.
fetched() {
	local out=$1 pkg=${2%@*} version=${2#*@}
	mkdir -p "$scratch/build" && cd "$scratch/build" && rm -f go.mod go.sum
	go mod init example/build 2>/dev/null
	go get -tool "$pkg@$version"
	CGO_ENABLED=0 go build -trimpath -ldflags='-s -w' -o "$out" "$pkg"
	cd - >/dev/null
}

# staged is fetched for kubernetes, whose parts are named by versions of their own.
staged() {
	local out=$1 pkg=$2 mod
	mkdir -p "$scratch/build" && cd "$scratch/build" && rm -f go.mod go.sum
	go mod init example/build 2>/dev/null
	mod=$(go mod download -json "k8s.io/kubernetes@$kubernetes" | sed -n 's/.*"GoMod": "\(.*\)".*/\1/p')
	sed -n 's#^\t\?\(k8s.io/[a-z-]*\) => ./staging/.*#\1#p' "$mod" | while read -r part; do
		go mod edit -replace "$part=$part@v0.${kubernetes#v1.}"
	done
	go get -tool "$pkg@$kubernetes"
	CGO_ENABLED=0 go build -trimpath -ldflags="-s -w -X k8s.io/component-base/version.gitVersion=$kubernetes -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=34" -o "$out" "$pkg"
	cd - >/dev/null
}

definitions() {
	local out=$1
	mkdir -p "$scratch/build" && cd "$scratch/build" && rm -f go.mod go.sum
	go mod init example/build 2>/dev/null
	printf 'package build\n\nimport _ "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"\n' >build.go
	go get -tool "sigs.k8s.io/controller-tools/cmd/controller-gen@$generator"
	go get "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring@$operator"
	go tool controller-gen crd:crdVersions=v1,allowDangerousTypes=true \
		paths=github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1 output:crd:dir="$out.part"
	rm build.go
	mv "$out.part" "$out"
	cd - >/dev/null
}

built etcd "go.etcd.io/etcd/server/v3@$etcd" fetched
built kube-apiserver k8s.io/kubernetes/cmd/kube-apiserver staged
[ -x "$keep/helm" ] || GOBIN=$keep go install "helm.sh/helm/v3/cmd/helm@$helm"
[ -d "$keep/definitions" ] || definitions "$keep/definitions"

openssl genrsa -out "$scratch/sa.key" 2048 2>/dev/null
openssl rsa -in "$scratch/sa.key" -pubout -out "$scratch/sa.pub" 2>/dev/null
token=$(openssl rand -hex 16)
echo "$token,admin,admin,system:masters" >"$scratch/tokens.csv"
etcd_port=${ETCD_PORT:-12379} peer_port=${PEER_PORT:-12380} api_port=${API_PORT:-16443}

"$keep/etcd" --data-dir "$scratch/etcd" --listen-client-urls "http://127.0.0.1:$etcd_port" --advertise-client-urls "http://127.0.0.1:$etcd_port" \
	--listen-peer-urls "http://127.0.0.1:$peer_port" --initial-advertise-peer-urls "http://127.0.0.1:$peer_port" \
	--initial-cluster "default=http://127.0.0.1:$peer_port" --unsafe-no-fsync >"$scratch/etcd.log" 2>&1 &
started+=($!)
"$keep/kube-apiserver" --etcd-servers="http://127.0.0.1:$etcd_port" --service-account-key-file="$scratch/sa.pub" \
	--service-account-signing-key-file="$scratch/sa.key" --service-account-issuer=https://kubernetes.default \
	--authorization-mode=AlwaysAllow --token-auth-file="$scratch/tokens.csv" --secure-port="$api_port" --bind-address=127.0.0.1 \
	--advertise-address=127.0.0.1 --cert-dir="$scratch/certs" --disable-admission-plugins=ServiceAccount \
	--service-cluster-ip-range=10.0.0.0/24 >"$scratch/kube-apiserver.log" 2>&1 &
started+=($!)

k() { kubectl --server="https://127.0.0.1:$api_port" --insecure-skip-tls-verify --token="$token" "$@"; }
for _ in $(seq 120); do
	k get --raw /readyz >/dev/null 2>&1 && break
	sleep 1
done
k get --raw /readyz >/dev/null

k apply --server-side -f "$keep/definitions" >/dev/null
k wait --for=condition=Established --timeout=60s crd --all >/dev/null

# fresh makes a namespace that takes confined Pods alone.
fresh() {
	k create namespace "$1" >/dev/null
	k label namespace "$1" pod-security.kubernetes.io/enforce=restricted pod-security.kubernetes.io/enforce-version=latest >/dev/null
}

# pods creates the Pod of each Deployment: Pod Security is enforced on Pods, and
# there is no controller that would make them.
pods() {
	k -n "$1" get deployments -o json | python3 -c '
import json, sys
for d in json.load(sys.stdin)["items"]:
    t = d["spec"]["template"]
    print(json.dumps({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": d["metadata"]["name"], "labels": t["metadata"]["labels"]}, "spec": t["spec"]}))
' | k -n "$1" apply --validate=strict -f - | sed 's/^/  /'
}

for form in sglang native-sidecar sidecar gateway; do
	fresh "kustomize-$form"
	kubectl kustomize "$form" | k -n "kustomize-$form" apply --validate=strict -f - >/dev/null
	pods "kustomize-$form"
	echo "kustomize $form: applied"
done
fresh rules
kubectl kustomize monitoring/rules | k -n rules apply --validate=strict -f - | sed 's/^/  /'

for mode in gateway native sidecar; do
	fresh "helm-$mode"
	"$keep/helm" template turnwatch ../helm/turnwatch --namespace "helm-$mode" --kube-version "$kubernetes" \
		--set "mode=$mode,podMonitor.enabled=true,prometheusRule.enabled=true,dashboards.enabled=true" >"$scratch/helm.yaml"
	k -n "helm-$mode" apply --validate=strict -f "$scratch/helm.yaml" >/dev/null
	pods "helm-$mode"
	echo "helm $mode: applied"
done

# What must be refused is refused, or the above says nothing.
refused() {
	if "${@:2}" >"$scratch/refused.log" 2>&1; then
		echo "FAIL: accepted: $1" >&2
		exit 1
	fi
	echo "refused, as it should be: $1"
}
fresh refused
kubectl kustomize native-sidecar >"$scratch/native.yaml"
sed 's/restartPolicy: Always/restartPolicy: Alway/' "$scratch/native.yaml" >"$scratch/alway.yaml"
refused 'a restart policy that is none' k -n refused apply --validate=strict -f "$scratch/alway.yaml"
sed 's/podMetricsEndpoints:/podMetricEndpoints:/' "$scratch/native.yaml" >"$scratch/typo.yaml"
refused 'a misspelled field of a PodMonitor' k -n refused apply --validate=strict -f "$scratch/typo.yaml"
cat >"$scratch/root.yaml" <<'POD'
apiVersion: v1
kind: Pod
metadata: {name: root}
spec: {containers: [{name: root, image: turnwatch}]}
POD
refused 'a Pod that is not confined' k -n refused apply -f "$scratch/root.yaml"
echo 'apiserver: all good'
