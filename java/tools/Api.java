import com.sun.source.doctree.DocCommentTree;
import com.sun.source.tree.AnnotationTree;
import com.sun.source.tree.ClassTree;
import com.sun.source.tree.CompilationUnitTree;
import com.sun.source.tree.MethodTree;
import com.sun.source.tree.ModifiersTree;
import com.sun.source.tree.Tree;
import com.sun.source.tree.VariableTree;
import com.sun.source.util.DocTrees;
import com.sun.source.util.JavacTask;
import com.sun.source.util.TreePath;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import javax.lang.model.element.Modifier;
import javax.tools.JavaCompiler;
import javax.tools.StandardJavaFileManager;
import javax.tools.ToolProvider;

/**
 * Writes down what of the modules users may use, as the sources spell it: `java
 * java/tools/Api.java` writes java/api.txt, with `--check` it fails where that says something else.
 * It fails, too, for what users may use and has no comment.
 */
final class Api {
  private static final List<String> MODULES =
      List.of(
          "trunkcall",
          "trunkcall-consul",
          "trunkcall-etcd",
          "trunkcall-grpc",
          "trunkcall-spring-boot-starter",
          "trunkcall-test",
          "trunkcall-zookeeper");
  private static final String HEAD =
      "# The public surface of the Java modules, written by `make api`.\n";

  private final DocTrees docs;
  private final List<String> bare = new ArrayList<>(); // without a comment

  private Api(DocTrees docs) {
    this.docs = docs;
  }

  public static void main(String[] arguments) throws IOException {
    Path java = Path.of(arguments.length > 0 ? arguments[arguments.length - 1] : "java");
    boolean check = arguments.length > 1 && arguments[0].equals("--check");
    Path file = java.resolve("api.txt");
    String text = text(java);
    if (!check) {
      Files.writeString(file, text);
    } else if (!Files.exists(file) || !Files.readString(file).equals(text)) {
      System.err.println(file + " says something else than the sources: `make api` writes it");
      System.exit(1);
    }
  }

  private static String text(Path java) throws IOException {
    StringBuilder text = new StringBuilder(HEAD);
    for (String module : MODULES) {
      List<Path> sources = sources(java.resolve(module).resolve("src/main/java"));
      if (!sources.isEmpty()) {
        text.append("\nmodule ").append(module).append('\n');
        text.append(read(sources));
      }
    }
    return text.toString();
  }

  /** Those of packages that are not internal. */
  private static List<Path> sources(Path folder) throws IOException {
    if (!Files.isDirectory(folder)) {
      return List.of();
    }
    try (Stream<Path> all = Files.walk(folder)) {
      return all.filter(path -> path.toString().endsWith(".java"))
          .filter(path -> !path.toString().contains("/internal/"))
          .filter(path -> !path.endsWith("package-info.java"))
          .sorted()
          .toList();
    }
  }

  private static String read(List<Path> sources) throws IOException {
    JavaCompiler compiler = ToolProvider.getSystemJavaCompiler();
    try (StandardJavaFileManager files = compiler.getStandardFileManager(null, null, null)) {
      JavacTask task =
          (JavacTask)
              compiler.getTask(
                  null,
                  files,
                  null,
                  List.of("-proc:none"),
                  null,
                  files.getJavaFileObjectsFromPaths(sources));
      Api api = new Api(DocTrees.instance(task));
      TreeMap<String, String> types = new TreeMap<>();
      for (CompilationUnitTree unit : task.parse()) {
        TreePath path = new TreePath(unit);
        for (Tree type : unit.getTypeDecls()) {
          if (type instanceof ClassTree found) {
            api.add(types, unit.getPackageName() + ".", new TreePath(path, type), found, false);
          }
        }
      }
      if (!api.bare.isEmpty()) {
        api.bare.forEach(one -> System.err.println("without a comment: " + one));
        System.exit(1);
      }
      return String.join("", types.values());
    }
  }

  /** {@code open}: whether members without a modifier are public, as those of interfaces are. */
  private void add(
      TreeMap<String, String> types, String prefix, TreePath path, ClassTree type, boolean open) {
    if (!isPublic(type.getModifiers(), open)) {
      return;
    }
    String name = prefix + type.getSimpleName();
    StringBuilder text = new StringBuilder(modifiers(type.getModifiers(), open));
    text.append(kind(type)).append(' ').append(name).append(parameters(type.getTypeParameters()));
    if (type.getKind() == Tree.Kind.RECORD) {
      text.append(components(type));
    }
    text.append(above(type)).append('\n');
    documented(path, name);
    boolean within =
        type.getKind() == Tree.Kind.INTERFACE || type.getKind() == Tree.Kind.ANNOTATION_TYPE;
    List<String> members = new ArrayList<>();
    for (Tree member : type.getMembers()) {
      TreePath at = new TreePath(path, member);
      if (member instanceof ClassTree inner) {
        add(types, name + ".", at, inner, within);
      } else if (member instanceof MethodTree method) {
        if (isPublic(method.getModifiers(), within)) {
          members.add("  " + method(name, type, method, within) + "\n");
          // Overriding methods, and what a record has by itself, are told of elsewhere.
          if (!has(method.getModifiers(), "Override") && !isCanonical(type, method)) {
            documented(at, name + "." + method.getName());
          }
        }
      } else if (member instanceof VariableTree field
          && (isConstant(type, field) || isPublic(field.getModifiers(), within))
          && !isComponent(type, field)) {
        members.add("  " + field(type, field, within) + "\n");
        if (type.getKind() != Tree.Kind.ENUM || !isConstant(type, field)) {
          documented(at, name + "." + field.getName());
        }
      }
    }
    if (type.getKind() != Tree.Kind.ENUM) { // whose constants have an order
      members.sort(null);
    }
    types.put(name, text + String.join("", members));
  }

  private void documented(TreePath path, String name) {
    DocCommentTree comment = docs.getDocCommentTree(path);
    if (comment == null || comment.getFullBody().isEmpty()) {
      bare.add(name);
    }
  }

  private static boolean isPublic(ModifiersTree modifiers, boolean open) {
    Set<Modifier> flags = modifiers.getFlags();
    return flags.contains(Modifier.PUBLIC)
        || flags.contains(Modifier.PROTECTED)
        || (open && !flags.contains(Modifier.PRIVATE));
  }

  private static boolean isConstant(ClassTree type, VariableTree field) {
    return type.getKind() == Tree.Kind.ENUM
        && field.getModifiers().getFlags().contains(Modifier.STATIC)
        && field.getModifiers().getFlags().contains(Modifier.PUBLIC)
        && String.valueOf(field.getType()).equals(type.getSimpleName().toString());
  }

  private static boolean isComponent(ClassTree type, VariableTree field) {
    return type.getKind() == Tree.Kind.RECORD
        && !field.getModifiers().getFlags().contains(Modifier.STATIC);
  }

  private static boolean isCanonical(ClassTree type, MethodTree method) {
    return type.getKind() == Tree.Kind.RECORD && method.getName().contentEquals("<init>");
  }

  private static boolean has(ModifiersTree modifiers, String annotation) {
    return modifiers.getAnnotations().stream()
        .anyMatch(one -> one.getAnnotationType().toString().equals(annotation));
  }

  private static String modifiers(ModifiersTree modifiers, boolean open) {
    StringBuilder text = new StringBuilder();
    for (AnnotationTree annotation : modifiers.getAnnotations()) {
      String name = annotation.getAnnotationType().toString();
      if (name.equals("Nullable")
          || name.equals("Deprecated")
          || name.equals("FunctionalInterface")) {
        text.append('@').append(name).append(' ');
      }
    }
    for (Modifier flag : modifiers.getFlags()) {
      if (flag != Modifier.PUBLIC && flag != Modifier.SYNCHRONIZED && flag != Modifier.VOLATILE) {
        text.append(flag).append(' ');
      }
    }
    return text.toString();
  }

  private static String kind(ClassTree type) {
    return switch (type.getKind()) {
      case INTERFACE -> "interface";
      case ANNOTATION_TYPE -> "@interface";
      case ENUM -> "enum";
      case RECORD -> "record";
      default -> "class";
    };
  }

  private static String components(ClassTree type) {
    return type.getMembers().stream()
        .filter(member -> member instanceof VariableTree field && isComponent(type, field))
        .map(member -> parameter((VariableTree) member))
        .collect(Collectors.joining(", ", "(", ")"));
  }

  private static String above(ClassTree type) {
    String text = "";
    if (type.getExtendsClause() != null) {
      text += " extends " + type.getExtendsClause();
    }
    if (!type.getImplementsClause().isEmpty()) {
      boolean extending = type.getKind() == Tree.Kind.INTERFACE;
      text += (extending ? " extends " : " implements ") + list(type.getImplementsClause());
    }
    if (!type.getPermitsClause().isEmpty()) {
      text += " permits " + list(type.getPermitsClause());
    }
    return text;
  }

  private static String list(List<? extends Tree> trees) {
    return trees.stream().map(Tree::toString).collect(Collectors.joining(", "));
  }

  private static String parameters(List<? extends Tree> types) {
    return types.isEmpty() ? "" : "<" + list(types) + ">";
  }

  private static String method(String type, ClassTree of, MethodTree method, boolean open) {
    StringBuilder text = new StringBuilder(modifiers(method.getModifiers(), open));
    if (!method.getTypeParameters().isEmpty()) {
      text.append(parameters(method.getTypeParameters())).append(' ');
    }
    boolean constructor = method.getReturnType() == null;
    if (!constructor) {
      text.append(method.getReturnType()).append(' ');
    }
    text.append(constructor ? of.getSimpleName() : method.getName());
    text.append(
        method.getParameters().stream()
            .map(Api::parameter)
            .collect(Collectors.joining(", ", "(", ")")));
    if (!method.getThrows().isEmpty()) {
      text.append(" throws ").append(list(method.getThrows()));
    }
    if (method.getDefaultValue() != null) {
      text.append(" default ").append(method.getDefaultValue());
    }
    return text.toString();
  }

  private static String parameter(VariableTree variable) {
    boolean nullable = has(variable.getModifiers(), "Nullable");
    String type = variable.getType().toString();
    if (variable.toString().contains("... ")) {
      type = type.substring(0, type.length() - 2) + "...";
    }
    return (nullable ? "@Nullable " : "") + type + " " + variable.getName();
  }

  private static String field(ClassTree type, VariableTree field, boolean open) {
    if (isConstant(type, field)) {
      return field.getName().toString();
    }
    return modifiers(field.getModifiers(), open) + field.getType() + " " + field.getName();
  }
}
