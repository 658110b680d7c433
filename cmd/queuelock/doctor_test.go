package main

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/queuelock/queuelock/cmd/queuelock/internal/doctor"
)

func TestDoctor(t *testing.T) {
	shorten(t, &noticeAfter, time.Hour) // so that a slow machine is not mentioned
	newEngine(t)
	o := invoke(t, "doctor")
	lines := strings.Split(strings.TrimSpace(o.stdout), "\n")
	host := strings.TrimPrefix(os.Getenv("AWS_ENDPOINT_URL_DYNAMODB"), "http://")
	o.matches(t, 0, `^[^\n]*table "queuelock".*\nok +host +`+host+`\n([^\n]*\n){8}`, "")
	for _, line := range lines[1:] {
		if !strings.HasPrefix(line, "ok ") {
			t.Error(line)
		}
	}
	if report := object[doctorReport](t, invoke(t, "doctor", "--deep", "--json")); report.Worst != doctor.OK || len(report.Results) < 20 {
		t.Errorf("%+v", report)
	}
	if o := invoke(t, "ls"); o.stdout != "" && strings.Contains(o.stdout, "doctor") {
		t.Errorf("scratch items are left: %s", o.stdout)
	}

	invoke(t, "doctor", "--deep", "--table", "nosuch").shows(t, exitFailed, `there is no table "nosuch"`, "skipped")
	invoke(t, "doctor", "x").ends(t, exitUsage)
}
