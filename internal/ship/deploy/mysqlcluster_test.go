package deploy_test

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"strings"
	"testing"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/tools/remotecommand"

	"github.com/operon-framework/operon/internal/ship/image"
	"github.com/operon-framework/operon/internal/ship/image/debian"
	"github.com/operon-framework/operon/internal/testing/testaid"
	"github.com/operon-framework/operon/local/localtest"
)

// testMySQLClusters: the examples of an Ansible role and of a Helm chart make MariaDB servers that replicate, keep their data when the
// primary is killed, and leave no volume behind. Both have the same kind, so one comes after the other.
func testMySQLClusters(t *testing.T, c *containers) {
	c.loadMariaDB(t)
	for _, example := range []string{"mysqlcluster-ansible", "mysqlcluster-helm"} {
		p := c.project(t, "../../../examples/"+example, example)
		p.deploy(t, nil)
		m := &mysqlCluster{T: t, containers: c, namespace: c.namespace(t, "mysql")}
		m.objects = c.objects(schema.GroupVersionResource{Group: "db.example.com", Version: "v1alpha1", Resource: "mysqlclusters"}, m.namespace)
		m.live()
		p.undeploy(t)
	}
}

// loadMariaDB builds the image of the servers from Debian's packages, as the examples describe.
func (c *containers) loadMariaDB(t *testing.T) {
	t.Helper()
	scratch, err := image.NewScratch(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer scratch.Close()
	root, err := debian.Unpack(t.Context(), scratch.Folder(), debian.Options{
		Packages: []string{"mariadb-server", "dash", "coreutils", "grep", "sed", "hostname"}, Without: []string{"perl"},
	})
	if err != nil {
		t.Fatal(err)
	}
	c.load(t, scratch, "mariadb:10.11", image.Single{By: "a test", Platform: root.Platform(), Run: v1.Config{User: "65532"}, Files: root.Files})
}

// Both examples have the same scripts: each has to be complete on its own.
func TestMySQLClustersHaveTheSameScripts(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"start.sh", "ready.sh"} {
		role := testaid.Read(t, "../../../examples/mysqlcluster-ansible/roles/mysqlcluster/files/"+name)
		if chart := testaid.Read(t, "../../../examples/mysqlcluster-helm/helm-charts/mysqlcluster/files/"+name); chart != role {
			t.Errorf("%s differs", name)
		}
	}
}

// mysqlCluster is a MySQLCluster named shop.
type mysqlCluster struct {
	*testing.T
	*containers
	namespace string
	objects   dynamic.ResourceInterface
}

// live takes a cluster through its life.
func (m *mysqlCluster) live() {
	m.Helper()
	made := &unstructured.Unstructured{Object: map[string]any{"spec": map[string]any{"replicas": int64(3), "storage": "1Gi"}}}
	made.SetAPIVersion("db.example.com/v1alpha1")
	made.SetKind("MySQLCluster")
	made.SetName("shop")
	create(m.T, m.objects, made)
	m.ready(3)
	m.query("shop-0", "CREATE DATABASE shop; CREATE TABLE shop.orders (id INT PRIMARY KEY); INSERT INTO shop.orders VALUES (1)")
	m.reads("shop-1", "1")
	m.reads("shop-2", "1")

	now := metav1.DeleteOptions{GracePeriodSeconds: new(int64(0))}
	before := m.uid("shop-0")
	if err := m.client.CoreV1().Pods(m.namespace).Delete(m.Context(), "shop-0", now); err != nil {
		m.Fatal(err)
	}
	localtest.Eventually(m.T, "another pod of the primary", func(ctx context.Context) error {
		pod, err := m.client.CoreV1().Pods(m.namespace).Get(ctx, "shop-0", metav1.GetOptions{})
		if err == nil && pod.UID == before {
			err = fmt.Errorf("the pod is still there")
		}
		return err
	})
	m.ready(3)
	m.reads("shop-0", "1")
	m.query("shop-0", "INSERT INTO shop.orders VALUES (2)")

	m.scale(4)
	m.ready(4)
	m.reads("shop-3", "1\n2")
	m.scale(3)
	m.gone("pod shop-3", func(ctx context.Context) error {
		_, err := m.client.CoreV1().Pods(m.namespace).Get(ctx, "shop-3", metav1.GetOptions{})
		return err
	})
	m.ready(3)

	if err := m.objects.Delete(m.Context(), "shop", metav1.DeleteOptions{}); err != nil {
		m.Fatal(err)
	}
	m.gone("the MySQLCluster", func(ctx context.Context) error {
		_, err := m.objects.Get(ctx, "shop", metav1.GetOptions{})
		return err
	})
	localtest.Eventually(m.T, "the volumes to be deleted, that of the server that was scaled down aside", func(ctx context.Context) error {
		claims, err := m.client.CoreV1().PersistentVolumeClaims(m.namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		for _, claim := range claims.Items {
			if claim.Name != "data-shop-3" {
				return fmt.Errorf("the volume %s is still there", claim.Name)
			}
		}
		return nil
	})
}

// ready waits until the object and a number of servers are ready.
func (m *mysqlCluster) ready(servers int32) {
	m.Helper()
	localtest.Eventually(m.T, fmt.Sprintf("%d servers", servers), func(ctx context.Context) error {
		running, err := m.client.AppsV1().StatefulSets(m.namespace).Get(ctx, "shop", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if running.Status.ReadyReplicas != servers || running.Status.Replicas != servers {
			return fmt.Errorf("%d of %d servers are ready: %s", running.Status.ReadyReplicas, running.Status.Replicas, m.why(ctx))
		}
		found, err := m.objects.Get(ctx, "shop", metav1.GetOptions{})
		if err != nil {
			return err
		}
		return objectReady(found)
	})
}

// why describes the servers that are not ready.
func (m *mysqlCluster) why(ctx context.Context) string {
	pods, err := m.client.CoreV1().Pods(m.namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return err.Error()
	}
	var lines []string
	for _, pod := range pods.Items {
		tail := int64(5)
		said, err := m.client.CoreV1().Pods(m.namespace).GetLogs(pod.Name, &corev1.PodLogOptions{TailLines: &tail}).DoRaw(ctx)
		lines = append(lines, fmt.Sprintf("%s %s %v %s %v", pod.Name, pod.Status.Phase, pod.Status.ContainerStatuses, said, err))
	}
	return strings.Join(lines, "\n")
}

func (m *mysqlCluster) uid(pod string) types.UID {
	m.Helper()
	found, err := m.client.CoreV1().Pods(m.namespace).Get(m.Context(), pod, metav1.GetOptions{})
	if err != nil {
		m.Fatal(err)
	}
	return found.UID
}

func (m *mysqlCluster) scale(servers int) {
	m.Helper()
	patch := fmt.Sprintf(`{"spec":{"replicas":%d}}`, servers)
	if _, err := m.objects.Patch(m.Context(), "shop", types.MergePatchType, []byte(patch), metav1.PatchOptions{}); err != nil {
		m.Fatal(err)
	}
}

// gone waits until get finds nothing.
func (m *mysqlCluster) gone(what string, get func(context.Context) error) {
	m.Helper()
	localtest.Eventually(m.T, what+" to be deleted", func(ctx context.Context) error {
		if err := get(ctx); !apierrors.IsNotFound(err) {
			return fmt.Errorf("it is still there (%v)", err)
		}
		return nil
	})
}

// reads waits until a server returns the orders.
func (m *mysqlCluster) reads(pod, want string) {
	m.Helper()
	localtest.Eventually(m.T, fmt.Sprintf("the orders in %s", pod), func(ctx context.Context) error {
		got, err := m.execute(ctx, pod, "SELECT id FROM shop.orders ORDER BY id")
		if err == nil && got != want {
			err = fmt.Errorf("got %q, want %q", got, want)
		}
		return err
	})
}

func (m *mysqlCluster) query(pod, statement string) {
	m.Helper()
	if _, err := m.execute(m.Context(), pod, statement); err != nil {
		m.Fatal(err)
	}
}

// execute executes statements in a server, and returns the rows.
func (m *mysqlCluster) execute(ctx context.Context, pod, statement string) (string, error) {
	line := []string{"sh", "-c", `MYSQL_PWD=$ROOT_PASSWORD mariadb --no-defaults --socket=/tmp/mysql.sock --user=root --skip-column-names --execute="$0"`, statement}
	at := m.client.CoreV1().RESTClient().Post().Resource("pods").Namespace(m.namespace).Name(pod).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{Container: "mysql", Command: line, Stdout: true, Stderr: true}, scheme.ParameterCodec).URL()
	executor, err := remotecommand.NewWebSocketExecutor(m.env.Config, http.MethodGet, at.String())
	if err != nil {
		return "", err
	}
	var stdout, stderr bytes.Buffer
	if err := executor.StreamWithContext(ctx, remotecommand.StreamOptions{Stdout: &stdout, Stderr: &stderr}); err != nil {
		return "", fmt.Errorf("%w: %s", err, stderr.String())
	}
	return strings.TrimSpace(stdout.String()), nil
}
