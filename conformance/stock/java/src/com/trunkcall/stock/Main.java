package com.trunkcall.stock;
public final class Main { public static void main(String[] a) {} }
