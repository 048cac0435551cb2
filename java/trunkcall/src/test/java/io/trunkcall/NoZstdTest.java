package io.trunkcall;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.lang.reflect.InvocationTargetException;
import java.net.MalformedURLException;
import java.net.URL;
import java.net.URLClassLoader;
import java.util.List;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

/** Where the library for zstd is not there, or not all of it. */
class NoZstdTest {
  /** Loads all classes of its own, and lacks something. */
  private abstract static class Lacking extends URLClassLoader {
    Lacking() {
      super(classPath(), ClassLoader.getPlatformClassLoader());
    }

    private static URL[] classPath() {
      return Stream.of(System.getProperty("java.class.path").split(File.pathSeparator))
          .map(Lacking::url)
          .toArray(URL[]::new);
    }

    private static URL url(String entry) {
      try {
        return new File(entry).toURI().toURL();
      } catch (MalformedURLException e) {
        throw new AssertionError(e);
      }
    }
  }

  /** As on a system for which the library has no native part, or one that does not load. */
  private static final class WithoutNativePart extends Lacking {
    @Override
    public InputStream getResourceAsStream(String name) {
      return name.endsWith(".so") || name.endsWith(".dylib") || name.endsWith(".dll")
          ? null
          : super.getResourceAsStream(name);
    }
  }

  private static final class WithoutLibrary extends Lacking {
    @Override
    protected Class<?> findClass(String name) throws ClassNotFoundException {
      if (name.startsWith("com.github.luben.")) {
        throw new ClassNotFoundException(name);
      }
      return super.findClass(name);
    }
  }

  private static void onlyGzipIsThere(Lacking loader, String why)
      throws IOException, ReflectiveOperationException {
    try (loader) {
      Class<?> packing = loader.loadClass("io.trunkcall.Packing");
      var usual = packing.getDeclaredMethod("usual");
      usual.setAccessible(true);
      assertEquals(1, ((List<?>) usual.invoke(null)).size());
      var zstd = loader.loadClass("io.trunkcall.Compression").getMethod("zstd");
      Throwable told =
          assertThrows(InvocationTargetException.class, () -> zstd.invoke(null)).getCause();
      assertTrue(told instanceof UnsupportedOperationException, told.toString());
      assertTrue(told.getMessage().contains("com.github.luben:zstd-jni"), told.getMessage());
      assertTrue(told.getMessage().contains(why), told.getMessage());
    }
  }

  @Test
  void withoutTheLibraryOnlyGzipIsAccepted() throws Exception {
    onlyGzipIsThere(new WithoutLibrary(), "which is not there");
  }

  @Test
  void withoutTheNativePartOfTheLibraryOnlyGzipIsAccepted() throws Exception {
    onlyGzipIsThere(new WithoutNativePart(), "whose native part cannot be loaded here");
  }
}
