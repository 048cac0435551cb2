package policy

import (
	"os"
	"regexp"
	"testing"
)

func TestTheFilesOfTheDocumentAreGood(t *testing.T) {
	text, err := os.ReadFile("../../../docs/policy.md")
	if err != nil {
		t.Fatal(err)
	}
	files := regexp.MustCompile("(?s)```yaml\n(.*?)```").FindAllSubmatch(text, -1)
	if len(files) < 7 {
		t.Errorf("%d files", len(files))
	}
	for _, f := range files {
		if _, err := Parse(f[1]); err != nil {
			t.Errorf("%v in\n%s", err, f[1])
		}
	}
}
