import java.util.*;
public class JavaRandomGolden {
  public static void main(String[] a) {
    long[] seeds = {0L, 1L, 42L, -1L, 1295802650997258572L, 2802680240763574189L, Long.MIN_VALUE, Long.MAX_VALUE};
    StringBuilder sb = new StringBuilder("[\n");
    for (int s = 0; s < seeds.length; s++) {
      Random r;
      sb.append("  {\"seed\": \"").append(seeds[s]).append("\",\n");
      int[] bounds = {9000, 2, 3, 5, 6, 8, 26, 1, 1000000007, 1 << 30, Integer.MAX_VALUE, (1 << 30) + 1};
      sb.append("   \"next_int\": {");
      for (int b = 0; b < bounds.length; b++) {
        r = new Random(seeds[s]);
        sb.append(b > 0 ? ", " : "").append("\"").append(bounds[b]).append("\": [");
        for (int i = 0; i < 12; i++) sb.append(i > 0 ? ", " : "").append(r.nextInt(bounds[b]));
        sb.append("]");
      }
      sb.append("},\n   \"next_long\": [");
      r = new Random(seeds[s]);
      for (int i = 0; i < 6; i++) sb.append(i > 0 ? ", " : "").append("\"").append(r.nextLong()).append("\"");
      sb.append("],\n   \"next_double\": [");
      r = new Random(seeds[s]);
      for (int i = 0; i < 6; i++) sb.append(i > 0 ? ", " : "").append("\"").append(Double.toHexString(r.nextDouble())).append("\"");
      sb.append("],\n   \"shuffle\": {");
      int[] sizes = {0, 1, 2, 5, 8, 40};
      for (int k = 0; k < sizes.length; k++) {
        r = new Random(seeds[s]);
        List<Integer> l = new ArrayList<>();
        for (int i = 0; i < sizes[k]; i++) l.add(i);
        Collections.shuffle(l, r);
        sb.append(k > 0 ? ", " : "").append("\"").append(sizes[k]).append("\": ").append(l);
      }
      r = new Random(seeds[s]);
      sb.append("},\n   \"mixed\": [").append(r.nextInt(9000)).append(", \"").append(r.nextLong()).append("\", \"").append(Double.toHexString(r.nextDouble())).append("\", ").append(r.nextInt(26)).append("]}").append(s + 1 < seeds.length ? ",\n" : "\n");
    }
    System.out.print(sb.append("]\n"));
  }
}
