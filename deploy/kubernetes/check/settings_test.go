package check

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
)

// sidecar builds the command, whose settings are tried here.
func sidecar(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "turnwatch")
	cmd := exec.Command("go", "build", "-o", out, "./cmd/turnwatch")
	cmd.Dir = "../../.."
	if msg, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build turnwatch: %v\n%s", err, msg)
	}
	return out
}

// local takes folders of containers for one of the test's.
func local(t *testing.T, text string) string {
	return strings.NewReplacer("/var/lib/turnwatch", t.TempDir()).Replace(text)
}

// try has the command say what it would do with its arguments.
func try(t *testing.T, command string, args []string) {
	t.Helper()
	for i, a := range args {
		args[i] = local(t, a)
	}
	if out, err := exec.Command(command, append([]string{"-check-config"}, args...)...).CombinedOutput(); err != nil {
		t.Errorf("turnwatch %s: %v\n%s", strings.Join(args, " "), err, out)
	}
}

// container returns ours among a Pod's.
func container(p *corev1.PodTemplateSpec) (corev1.Container, bool) {
	all := slices.Concat(p.Spec.Containers, p.Spec.InitContainers)
	i := slices.IndexFunc(all, func(c corev1.Container) bool { return c.Name == "turnwatch" })
	if i < 0 {
		return corev1.Container{}, false
	}
	return all[i], true
}

// Every setting that is deployed is one that turnwatch has.
func TestSettingsAreTurnwatchs(t *testing.T) {
	command, s := sidecar(t), strict(t)
	for _, form := range []string{"native-sidecar", "sidecar", "gateway"} {
		objects, err := decode(s, kustomized(t, form))
		if err != nil {
			t.Fatal(err)
		}
		tried := 0
		for _, p := range pods(objects) {
			if c, ok := container(p); ok {
				try(t, command, slices.Clone(c.Args))
				tried++
			}
		}
		if tried != 1 {
			t.Errorf("%s: got %d containers", form, tried)
		}
	}
	for _, mode := range []string{"gateway", "native", "sidecar"} {
		docs, err := rendered(t, everything(mode))
		if err != nil {
			t.Fatal(err)
		}
		objects, err := decode(s, docs)
		if err != nil {
			t.Fatal(err)
		}
		try(t, command, []string{"-config", settings(t, objects)})
	}
	unit, err := os.ReadFile("../../systemd/turnwatch.yaml")
	if err != nil {
		t.Fatal(err)
	}
	try(t, command, []string{"-config", written(t, string(unit))})
	for _, service := range composed(t).Services {
		if service.Name == "turnwatch" {
			try(t, command, slices.Clone(service.Command))
		}
	}
}

// settings writes the file that the chart configures the sidecar by.
func settings(t *testing.T, objects []runtime.Object) string {
	t.Helper()
	for _, o := range objects {
		if m, ok := o.(*corev1.ConfigMap); ok && m.Data["turnwatch.yaml"] != "" {
			return written(t, m.Data["turnwatch.yaml"])
		}
	}
	t.Fatal("got no ConfigMap with turnwatch.yaml")
	return ""
}

func written(t *testing.T, text string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "turnwatch.yaml")
	if err := os.WriteFile(name, []byte(local(t, text)), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}
