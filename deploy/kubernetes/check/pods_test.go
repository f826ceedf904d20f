package check

import (
	"maps"
	"slices"
	"testing"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	appsv1 "k8s.io/api/apps/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/intstr"
	admission "k8s.io/pod-security-admission/api"
	"k8s.io/pod-security-admission/policy"
)

// confined holds Pods against the restricted standard, by the code that clusters
// enforce it with, and our container against what is promised of it.
func confined(t *testing.T, pods map[string]*corev1.PodTemplateSpec) {
	t.Helper()
	e, err := policy.NewEvaluator(policy.DefaultChecks(), nil)
	if err != nil {
		t.Fatal(err)
	}
	restricted := admission.LevelVersion{Level: admission.LevelRestricted, Version: admission.LatestVersion()}
	for name, p := range pods {
		for _, r := range e.EvaluatePod(restricted, &p.ObjectMeta, &p.Spec) {
			if !r.Allowed {
				t.Errorf("%s: got %s, %s", name, r.ForbiddenReason, r.ForbiddenDetail)
			}
		}
		if p.Spec.AutomountServiceAccountToken == nil || *p.Spec.AutomountServiceAccountToken {
			t.Errorf("%s: got a token of the API server, which nothing needs", name)
		}
		for _, c := range slices.Concat(p.Spec.Containers, p.Spec.InitContainers) {
			if c.Name == "turnwatch" {
				ours(t, c, p.Spec)
			}
		}
	}
}

// ours holds what is promised of the container.
func ours(t *testing.T, c corev1.Container, spec corev1.PodSpec) {
	t.Helper()
	s := c.SecurityContext
	if s == nil || !*s.ReadOnlyRootFilesystem || *s.RunAsUser != 65532 {
		t.Errorf("security context: got %+v", s)
	}
	if c.Resources.Limits.Memory().IsZero() || !c.Resources.Limits.Cpu().IsZero() {
		t.Errorf("limits: got %v, want memory and no CPU", c.Resources.Limits)
	}
	limit := slices.ContainsFunc(c.Env, func(e corev1.EnvVar) bool {
		return e.Name == "GOMEMLIMIT" && e.ValueFrom != nil && e.ValueFrom.ResourceFieldRef != nil && e.ValueFrom.ResourceFieldRef.Resource == "limits.memory"
	})
	if !limit {
		t.Error("GOMEMLIMIT: got none from limits.memory")
	}
	// A native sidecar must have started before the kubelet starts SGLang.
	for what, p := range map[string]*corev1.Probe{"startup": c.StartupProbe, "liveness": c.LivenessProbe} {
		if p == nil || p.HTTPGet == nil || p.HTTPGet.Path != "/livez" || p.HTTPGet.Port != intstr.FromString("admin") {
			t.Errorf("%s probe: got %+v, want /livez of the admin listener", what, p)
		}
	}
	if c.ReadinessProbe == nil || c.ReadinessProbe.HTTPGet.Path != "/readyz" {
		t.Errorf("readiness probe: got %+v", c.ReadinessProbe)
	}
	if c.RestartPolicy != nil && c.Lifecycle != nil {
		t.Errorf("lifecycle: got %+v, want none of what ends last", c.Lifecycle)
	}
	if g := spec.TerminationGracePeriodSeconds; g == nil || *g < 100 {
		t.Errorf("grace period: got %v", g)
	}
}

// selected checks that whatever selects Pods or names their ports means some that
// are there.
func selected(t *testing.T, objects []runtime.Object) {
	t.Helper()
	all := pods(objects)
	if len(all) == 0 {
		return // of monitors alone
	}
	for _, o := range objects {
		switch o := o.(type) {
		case *corev1.Service:
			for _, p := range o.Spec.Ports {
				hit(t, all, labels.SelectorFromSet(o.Spec.Selector), p.TargetPort.StrVal)
			}
		case *monitoring.PodMonitor:
			for _, e := range o.Spec.PodMetricsEndpoints {
				if *e.Port == "sglang" && all["turnwatch"] != nil {
					continue // SGLang is deployed elsewhere
				}
				hit(t, all, selector(t, o.Spec.Selector), *e.Port)
			}
		case *networkingv1.NetworkPolicy:
			for _, i := range o.Spec.Ingress {
				for _, p := range i.Ports {
					hit(t, all, selector(t, o.Spec.PodSelector), p.Port.StrVal)
				}
			}
		case *policyv1.PodDisruptionBudget:
			hit(t, all, selector(t, *o.Spec.Selector), "")
		case *appsv1.Deployment:
			hit(t, all, selector(t, *o.Spec.Selector), "")
		case *autoscalingv2.HorizontalPodAutoscaler:
			if all[o.Spec.ScaleTargetRef.Name] == nil {
				t.Errorf("autoscaler: got no Deployment %s", o.Spec.ScaleTargetRef.Name)
			}
		}
	}
}

func selector(t *testing.T, s metav1.LabelSelector) labels.Selector {
	t.Helper()
	got, err := metav1.LabelSelectorAsSelector(&s)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// hit checks that a selector finds a Pod that has the port.
func hit(t *testing.T, all map[string]*corev1.PodTemplateSpec, s labels.Selector, port string) {
	t.Helper()
	for p := range maps.Values(all) {
		if s.Matches(labels.Set(p.Labels)) && (port == "" || slices.Contains(ports(p), port)) {
			return
		}
	}
	t.Errorf("selector %s, port %q: got no Pod", s, port)
}

// ports returns the names of a Pod's ports.
func ports(p *corev1.PodTemplateSpec) (names []string) {
	for _, c := range slices.Concat(p.Spec.Containers, p.Spec.InitContainers) {
		for _, port := range c.Ports {
			names = append(names, port.Name)
		}
	}
	return names
}
