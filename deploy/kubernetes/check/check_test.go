// Package check holds what is deployed to Kubernetes against the types of its
// API, the chart against Helm's own linter, and compose.yaml against the
// specification of such files. It needs no cluster.
package check

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	"helm.sh/helm/v3/pkg/chart/loader"
	"helm.sh/helm/v3/pkg/chartutil"
	"helm.sh/helm/v3/pkg/engine"
	"helm.sh/helm/v3/pkg/lint"
	"helm.sh/helm/v3/pkg/lint/support"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/apimachinery/pkg/util/yaml"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

const (
	manifests = ".."
	chart     = "../../helm/turnwatch"
)

// version is of the cluster that the chart is rendered for.
var version = chartutil.KubeVersion{Version: "v1.34.0", Major: "1", Minor: "34"}

// forms are the ways to deploy, by kustomize.
func forms() []string {
	return []string{"sglang", "native-sidecar", "sidecar", "gateway", "monitoring/podmonitor", "monitoring/rules"}
}

// strict decodes as the API server does with strict field validation.
func strict(t *testing.T) *json.Serializer {
	t.Helper()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, appsv1.AddToScheme, autoscalingv2.AddToScheme, policyv1.AddToScheme, networkingv1.AddToScheme, monitoring.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			t.Fatal(err)
		}
	}
	return json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme, scheme, json.SerializerOptions{Yaml: true, Strict: true})
}

// decode returns the objects of a stream of documents.
func decode(s *json.Serializer, docs []byte) (all []runtime.Object, err error) {
	for r := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(docs))); ; {
		doc, err := r.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		if len(bytes.Trim(doc, "-\n ")) == 0 { // as clients do
			continue
		}
		o, _, err := s.Decode(doc, nil, nil)
		if err != nil {
			return nil, fmt.Errorf("%w in\n%s", err, doc)
		}
		all = append(all, o)
	}
}

// kustomized returns the objects that a folder makes.
func kustomized(t *testing.T, dir string) []byte {
	t.Helper()
	m, err := krusty.MakeKustomizer(&krusty.Options{LoadRestrictions: types.LoadRestrictionsRootOnly, PluginConfig: types.DisabledPluginConfig()}).
		Run(filesys.MakeFsOnDisk(), filepath.Join(manifests, dir))
	if err != nil {
		t.Fatal(err)
	}
	docs, err := m.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return docs
}

// rendered returns the objects that the chart makes.
func rendered(t *testing.T, values map[string]any) ([]byte, error) {
	t.Helper()
	return renderedFor(t, version, values)
}

// renderedFor is rendered for a cluster of another version.
func renderedFor(t *testing.T, version chartutil.KubeVersion, values map[string]any) ([]byte, error) {
	t.Helper()
	c, err := loader.Load(chart)
	if err != nil {
		t.Fatal(err)
	}
	able := chartutil.DefaultCapabilities.Copy()
	able.KubeVersion = version
	full, err := chartutil.ToRenderValues(c, values, chartutil.ReleaseOptions{Name: "r", Namespace: "ns", IsInstall: true}, able)
	if err != nil {
		return nil, err
	}
	files, err := engine.Render(c, full)
	if err != nil {
		return nil, err
	}
	var docs bytes.Buffer
	for name, text := range files {
		if !strings.HasSuffix(name, ".txt") {
			fmt.Fprintf(&docs, "---\n%s\n", text)
		}
	}
	return docs.Bytes(), nil
}

// everything switches all on that a chart's user may.
func everything(mode string) map[string]any {
	yes := func() map[string]any { return map[string]any{"enabled": true} } // Helm writes into it
	return map[string]any{"mode": mode, "podMonitor": yes(), "prometheusRule": yes(), "dashboards": yes(),
		"env": []any{map[string]any{"name": "OTEL_EXPORTER_OTLP_ENDPOINT", "value": "http://otelcol.monitoring:4318"}}}
}

// pods returns the templates of Pods among objects, by the name of their owner.
func pods(objects []runtime.Object) map[string]*corev1.PodTemplateSpec {
	all := map[string]*corev1.PodTemplateSpec{}
	for _, o := range objects {
		if d, ok := o.(*appsv1.Deployment); ok {
			all[d.Name] = &d.Spec.Template
		}
	}
	return all
}

func TestManifestsHoldToTheirTypes(t *testing.T) {
	s := strict(t)
	for _, form := range forms() {
		t.Run(form, func(t *testing.T) {
			objects, err := decode(s, kustomized(t, form))
			if err != nil {
				t.Fatal(err)
			}
			confined(t, pods(objects))
			selected(t, objects)
		})
	}
	for _, mode := range []string{"gateway", "native", "sidecar"} {
		t.Run("helm "+mode, func(t *testing.T) {
			for _, values := range []map[string]any{{"mode": mode}, everything(mode)} {
				docs, err := rendered(t, values)
				if err != nil {
					t.Fatal(err)
				}
				objects, err := decode(s, docs)
				if err != nil {
					t.Fatal(err)
				}
				confined(t, pods(objects))
				selected(t, objects)
			}
		})
	}
}

// What ends with others waits for endpoints to forget it, where the cluster knows how
// to: older ones refuse the field.
func TestOldClustersAreAskedForNothingNew(t *testing.T) {
	f := func(name string, docs []byte, want bool) {
		t.Helper()
		if got := bytes.Contains(docs, []byte("preStop:")); got != want {
			t.Errorf("%s: got preStop %t, want %t", name, got, want)
		}
	}
	f("gateway", kustomized(t, "gateway"), true)
	f("sidecar, which is for clusters before 1.29", kustomized(t, "sidecar"), false)
	f("native-sidecar", kustomized(t, "native-sidecar"), false)
	old := chartutil.KubeVersion{Version: "v1.28.3", Major: "1", Minor: "28"}
	for _, mode := range []string{"gateway", "sidecar"} {
		for _, v := range []chartutil.KubeVersion{version, old} {
			docs, err := renderedFor(t, v, map[string]any{"mode": mode})
			if err != nil {
				t.Fatal(err)
			}
			f("helm "+mode+" for "+v.Version, docs, v == version)
		}
	}
}

// A misspelled field must not pass, or the test above says nothing.
func TestMisspelledFieldsAreSeen(t *testing.T) {
	s := strict(t)
	docs := kustomized(t, "native-sidecar")
	for _, change := range [][2]string{{"restartPolicy: Always", "restartpolicy: Always"}, {"targetPort:", "targetport:"}, {"podMetricsEndpoints:", "podMetricEndpoints:"}} {
		broken := strings.Replace(string(docs), change[0], change[1], 1)
		if broken == string(docs) {
			t.Errorf("%s: got no such text", change[0])
		}
		if _, err := decode(s, []byte(broken)); err == nil {
			t.Errorf("%s: got no error", change[1])
		}
	}
}

func TestChartPassesHelmsLinter(t *testing.T) {
	for _, mode := range []string{"gateway", "native", "sidecar"} {
		result := lint.AllWithKubeVersion(chart, everything(mode), "ns", &version)
		for _, m := range result.Messages {
			if m.Severity >= support.WarningSev { // as helm lint --strict does
				t.Errorf("%s: %s", mode, m)
			}
		}
	}
}

func TestChartRefusesWrongValues(t *testing.T) {
	f := func(values map[string]any, want string) {
		t.Helper()
		if _, err := rendered(t, values); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v: got %v, want %s", values, err, want)
		}
	}
	f(map[string]any{"mode": "sidecart"}, "mode")
	f(map[string]any{"replica": 3}, "replica")
	f(map[string]any{"settings": map[string]any{"upstream": "http://x"}}, "upstream")
	f(map[string]any{"resources": map[string]any{"limits": nil}}, "limits")
	f(map[string]any{"upstream": "sglang:30000"}, "upstream")
}
