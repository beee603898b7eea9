package main

import (
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/operon-framework/operon"

	"github.com/operon-framework/operon/examples/postgres/api/v1alpha1"
)

// port is the port of PostgreSQL.
const port = 5432

func labelsOf(p *v1alpha1.Postgres) map[string]string {
	return map[string]string{"app.kubernetes.io/name": "postgres", "app.kubernetes.io/instance": p.Name}
}

func credentialsOf(p *v1alpha1.Postgres) *corev1.Secret {
	return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: operon.Name(63, p.Name, "credentials"), Namespace: p.Namespace}}
}

func serviceOf(p *v1alpha1.Postgres) *corev1.Service {
	return &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace},
		Spec:       corev1.ServiceSpec{Selector: labelsOf(p), Ports: []corev1.ServicePort{{Name: "postgres", Port: port}}},
	}
}

// container returns a container that runs a program in the image of the server, with the password in its environment.
func (o *Postgres) container(p *v1alpha1.Postgres, name, variable string, args ...string) corev1.Container {
	return corev1.Container{
		Name: name, Image: fmt.Sprintf("%s:%d", o.Image, p.Spec.Version), Args: args,
		Env: []corev1.EnvVar{{Name: variable, ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{
			LocalObjectReference: corev1.LocalObjectReference{Name: credentialsOf(p).Name}, Key: "password",
		}}}},
	}
}

func (o *Postgres) serverOf(p *v1alpha1.Postgres) *appsv1.StatefulSet {
	server := o.container(p, "postgres", "POSTGRES_PASSWORD")
	server.Ports = []corev1.ContainerPort{{Name: "postgres", ContainerPort: port}}
	server.ReadinessProbe = &corev1.Probe{ProbeHandler: corev1.ProbeHandler{Exec: &corev1.ExecAction{Command: []string{"pg_isready", "-U", "postgres"}}}}
	server.VolumeMounts = []corev1.VolumeMount{{Name: "data", MountPath: "/var/lib/postgresql"}}
	return &appsv1.StatefulSet{
		ObjectMeta: metav1.ObjectMeta{Name: p.Name, Namespace: p.Namespace, Labels: labelsOf(p)},
		Spec: appsv1.StatefulSetSpec{
			Replicas: new(int32(1)), ServiceName: p.Name, Selector: &metav1.LabelSelector{MatchLabels: labelsOf(p)},
			Template: corev1.PodTemplateSpec{
				ObjectMeta: metav1.ObjectMeta{Labels: labelsOf(p)},
				Spec:       corev1.PodSpec{Containers: []corev1.Container{server}},
			},
			VolumeClaimTemplates: []corev1.PersistentVolumeClaim{{
				ObjectMeta: metav1.ObjectMeta{Name: "data"},
				Spec: corev1.PersistentVolumeClaimSpec{
					AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce},
					Resources:   corev1.VolumeResourceRequirements{Requests: corev1.ResourceList{corev1.ResourceStorage: p.Spec.Storage}},
				},
			}},
		},
	}
}

func (o *Postgres) backupsOf(p *v1alpha1.Postgres) *batchv1.CronJob {
	dump := o.container(p, "dump", "PGPASSWORD", "sh", "-c", "pg_dumpall -h "+p.Name+" -U postgres > /dumps/$(date +%s).sql")
	dump.VolumeMounts = []corev1.VolumeMount{{Name: "dumps", MountPath: "/dumps"}}
	return &batchv1.CronJob{
		ObjectMeta: metav1.ObjectMeta{Name: operon.Name(52, p.Name, "backup"), Namespace: p.Namespace, Labels: labelsOf(p)},
		Spec: batchv1.CronJobSpec{
			Schedule: p.Spec.Backup.Schedule, ConcurrencyPolicy: batchv1.ForbidConcurrent,
			JobTemplate: batchv1.JobTemplateSpec{Spec: batchv1.JobSpec{Template: corev1.PodTemplateSpec{Spec: corev1.PodSpec{
				RestartPolicy: corev1.RestartPolicyNever, Containers: []corev1.Container{dump},
				Volumes: []corev1.Volume{{Name: "dumps", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: p.Spec.Backup.Claim}}}},
			}}}},
		},
	}
}
