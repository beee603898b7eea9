package sim

import (
	corev1 "k8s.io/api/core/v1"
)

// Reasons for which a container waits, as the stages write them.
const (
	waitsCreating    = "ContainerCreating"
	waitsPullFailed  = "ErrImagePull"
	waitsPullBackOff = "ImagePullBackOff"
	waitsCrashed     = "CrashLoopBackOff"
	waitsRefused     = "InvalidAnnotation"

	// Reasons of a pod's Ready condition.
	reasonGated  = "ReadinessGatesNotReady"
	reasonCutOff = "NodeLost"
)

// stateOf returns the current state of a pod according to its status.
func stateOf(pod *corev1.Pod) podState {
	switch pod.Status.Phase {
	case corev1.PodSucceeded:
		return podSucceeded
	case corev1.PodFailed:
		return podFailed
	}
	if len(pod.Status.ContainerStatuses) == 0 {
		return podNew
	}
	if waiting := pod.Status.ContainerStatuses[0].State.Waiting; waiting != nil {
		return stateOfWaiting(pod, waiting)
	}
	return stateOfRunning(pod)
}

func stateOfWaiting(pod *corev1.Pod, waiting *corev1.ContainerStateWaiting) podState {
	switch waiting.Reason {
	case waitsCreating:
		return podCreating
	case waitsPullFailed:
		return podPullFailed
	case waitsPullBackOff:
		return podPullBackOff
	case waitsCrashed:
		return podCrashed
	case waitsRefused:
		// If the status shows a different problem, the pod counts as new.
		if _, err := readWish(pod); err != nil && err.Error() == waiting.Message {
			return podRefused
		}
	}
	return podNew
}

func stateOfRunning(pod *corev1.Pod) podState {
	ready := podCondition(pod, corev1.PodReady)
	switch {
	case ready.Reason == reasonCutOff:
		return podCutOff
	case pod.Status.ObservedGeneration != pod.Generation, pod.Status.PodIP == nodeAddress: // pods of earlier versions in the host network
		return podOutdated
	case ready.Status == corev1.ConditionTrue:
		return podReady
	case ready.Reason == reasonGated:
		return podGated
	}
	return podUnready
}
